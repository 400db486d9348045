#include "partition/scatter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

/// Bytes of the write buffers of one task: what a core has of second and last-level cache together. Only a line a
/// partition is written at a time, the others wait for their turn.
constexpr std::uint64_t kBufferBytes = std::uint64_t{2} << 20;
/// Slots of one buffer: fewer flushes mispredict less, and write longer runs. Measured on an AMD EPYC (Zen 4),
/// 2026-11-21: 2^26 pairs into 2^10 partitions take one thread 132, 124 and 117 ms, two 74, 71 and 64 ms, with 64, 128
/// and 256 slots; two gain nothing from 512.
constexpr std::uint32_t kMostEntries = 256;
constexpr std::uint64_t kLineBytes = 64;
constexpr std::uint64_t kStagingBytes = kStagedElements * 16;

DigitBits bits_of(RadixDigit digit) { return {digit.bits, digit.shift, digit.mixed}; }

/// Slots of a buffer of one partition, for streams whose elements take `element_bytes` together, the smallest
/// `least_width`: whole cache lines of every stream.
std::uint32_t buffer_entries(std::uint64_t partitions, std::uint64_t element_bytes, std::uint64_t least_width) {
  auto const fewest = static_cast<std::uint32_t>(kLineBytes / least_width);
  auto entries = kMostEntries;
  while (entries > fewest && entries * element_bytes * partitions > kBufferBytes) entries /= 2;
  return entries;
}

std::size_t log2_of(std::uint32_t width) { return static_cast<std::size_t>(std::countr_zero(width)); }

/// The part that holds `row`.
auto part_of(PayloadColumn const& column, std::uint64_t row) {
  auto const& parts = column.parts;
  auto const behind = std::upper_bound(parts.begin(), parts.end(), row,
                                       [](std::uint64_t r, PayloadColumn::Part const& p) { return r < p.first_row; });
  return behind - 1;
}

/// Copies the values of ascending rows.
template <class Row>
void copy_values(PayloadColumn const& column, Row const* rows, std::size_t count, std::uint32_t width, std::byte* to) {
  auto part = part_of(column, rows[0]);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const row = rows[i];
    while (part + 1 != column.parts.end() && row >= (part + 1)->first_row) ++part;
    std::memcpy(to + i * width, part->values + (row - part->first_row) * width, width);
  }
}

/// Makes the values of ascending rows, those that follow each other at once.
template <class Row>
void make_runs(PayloadColumn const& column, Row const* rows, std::size_t count, std::uint32_t width, std::byte* to) {
  for (std::size_t i = 0; i < count;) {
    auto end = i + 1;
    while (end < count && rows[end] == rows[i] + (end - i)) ++end;
    column.make(rows[i], end - i, to + i * width);
    i = end;
  }
}

}  // namespace

StreamSource StreamSource::array(void const* elements) {
  StreamSource source;
  source.array_ = static_cast<std::byte const*>(elements);
  return source;
}

StreamSource StreamSource::numbers() { return {}; }

StreamSource StreamSource::column(PayloadColumn const& column, void const* rows, bool wide_rows) {
  StreamSource source;
  source.column_ = &column;
  source.rows_ = rows;
  source.wide_rows_ = wide_rows;
  return source;
}

void const* StreamSource::read(std::uint64_t first, std::size_t count, std::uint32_t width, std::byte* staging) const {
  if (array_ != nullptr) return array_ + first * width;
  if (column_ != nullptr) return read_column(first, count, width, staging);
  if (width == 4) {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(staging);
    std::iota(numbers, numbers + count, static_cast<std::uint32_t>(first));
  } else {
    auto* const numbers = reinterpret_cast<std::uint64_t*>(staging);
    std::iota(numbers, numbers + count, first);
  }
  return staging;
}

void const* StreamSource::read_column(std::uint64_t first, std::size_t count, std::uint32_t width,
                                      std::byte* staging) const {
  if (column_->make) {
    make_values(first, count, width, staging);
    return staging;
  }
  if (rows_ != nullptr) {
    if (wide_rows_)
      copy_values(*column_, static_cast<std::uint64_t const*>(rows_) + first, count, width, staging);
    else
      copy_values(*column_, static_cast<std::uint32_t const*>(rows_) + first, count, width, staging);
    return staging;
  }
  auto const& parts = column_->parts;
  auto part = part_of(*column_, first);
  auto const end_of = [&](auto p) { return p + 1 == parts.end() ? first + count : (p + 1)->first_row; };
  if (first + count <= end_of(part)) return part->values + (first - part->first_row) * width;
  for (auto row = first; row < first + count;) {
    auto const last = std::min(first + count, end_of(part));
    std::memcpy(staging + (row - first) * width, part->values + (row - part->first_row) * width, (last - row) * width);
    row = last;
    ++part;
  }
  return staging;
}

void StreamSource::make_values(std::uint64_t first, std::size_t count, std::uint32_t width, std::byte* staging) const {
  if (rows_ == nullptr)
    column_->make(first, count, staging);
  else if (wide_rows_)
    make_runs(*column_, static_cast<std::uint64_t const*>(rows_) + first, count, width, staging);
  else
    make_runs(*column_, static_cast<std::uint32_t const*>(rows_) + first, count, width, staging);
}

Result<ScatterScratch::Space> ScatterScratch::take() {
  {
    std::lock_guard const lock(mutex_);
    if (!spaces_.empty()) {
      auto space = std::move(spaces_.back());
      spaces_.pop_back();
      return space;
    }
  }
  Space space;
  GARUDA_TRY_ASSIGN(space.staging, AlignedBuffer::allocate(static_cast<std::int64_t>(2 * kStagingBytes)));
  return space;
}

void ScatterScratch::put_back(Space space) {
  std::lock_guard const lock(mutex_);
  spaces_.push_back(std::move(space));
}

void Scatter::digits(std::uint64_t first, std::size_t count, std::uint16_t* out) const {
  if (keys_.words32 != nullptr)
    kernels_->digits_32(keys_.words32 + first, count, bits_of(digit_), out);
  else
    kernels_->digits_64(keys_.words64 + first, count, bits_of(digit_), out);
}

void Scatter::count(std::uint64_t begin, std::uint64_t end, std::uint64_t* counts, Control const& control) const {
  auto const partitions = this->partitions();
  std::fill_n(counts, partitions, 0);
  std::vector<std::uint32_t> narrow(partitions);
  std::uint64_t counted = 0;
  auto const move_counts = [&] {
    for (std::size_t p = 0; p < partitions; ++p) counts[p] += std::exchange(narrow[p], 0);
    counted = 0;
  };
  for (auto first = begin; first < end && !control.is_cancelled(); first += kBlockRows) {
    auto const rows = static_cast<std::size_t>(std::min(kBlockRows, end - first));
    if (counted + rows > std::numeric_limits<std::uint32_t>::max()) move_counts();
    counted += rows;
    if (keys_.words32 != nullptr)
      kernels_->count_32(keys_.words32 + first, rows, bits_of(digit_), narrow.data());
    else
      kernels_->count_64(keys_.words64 + first, rows, bits_of(digit_), narrow.data());
  }
  move_counts();
}

Result<void> Scatter::move(std::uint64_t begin, std::uint64_t end, std::uint64_t const* starts,
                           std::uint64_t const* ends, std::span<Stream const> streams, ScatterScratch& scratch,
                           Control const& control) const {
  GARUDA_EXPECTS(streams.size() == 1 || streams.size() == 2);
  auto const partitions = this->partitions();
  bool const two = streams.size() == 2;
  auto const& a = streams[0];
  auto const& b = streams[two ? 1 : 0];
  auto const element_bytes = std::uint64_t{a.width} + (two ? b.width : 0);
  WriteBuffers to;
  to.entries = buffer_entries(partitions, element_bytes, std::min(a.width, b.width));
  auto const buffer_bytes = static_cast<std::int64_t>(partitions * to.entries * element_bytes);
  auto const cursor_bytes = static_cast<std::int64_t>(partitions * (4 + 8));
  GARUDA_TRY_ASSIGN(auto space, scratch.take());
  if (space.buffers.size_bytes() < buffer_bytes) {
    GARUDA_TRY_ASSIGN(space.buffers, AlignedBuffer::allocate(buffer_bytes));
  }
  if (space.cursors.size_bytes() < cursor_bytes) {
    GARUDA_TRY_ASSIGN(space.cursors, AlignedBuffer::allocate(cursor_bytes));
  }
  to.buffers = space.buffers.data();
  to.positions = space.cursors.as<std::uint64_t>();
  to.cursors = reinterpret_cast<std::uint32_t*>(to.positions + partitions);
  to.out_a = a.out;
  to.out_b = two ? b.out : nullptr;
  to.ends = ends;
  for (std::uint64_t p = 0; p < partitions; ++p) {
    to.positions[p] = starts[p];
    to.cursors[p] = static_cast<std::uint32_t>(p * to.entries + (starts[p] & (to.entries - 1)));
  }
  auto const& kernel =
      two ? kernels_->pairs[log2_of(a.width) - 2][log2_of(b.width) - 2] : kernels_->singles[log2_of(a.width)];
  bool const by_keys =
      !digit_.mixed &&
      a.source.is_array(keys_.words32 != nullptr ? static_cast<void const*>(keys_.words32) : keys_.words64);
  std::array<std::uint16_t, kStagedElements> digits{};
  std::uint64_t since_check = 0;
  for (auto first = begin; first < end; first += kStagedElements) {
    auto const rows = static_cast<std::size_t>(std::min<std::uint64_t>(kStagedElements, end - first));
    if ((since_check += rows) >= kBlockRows) {
      if (control.is_cancelled()) break;
      since_check = 0;
    }
    auto const* const from_a = a.source.read(first, rows, a.width, space.staging.data());
    if (by_keys && two && b.source.is_numbers()) {
      kernel.number_keys(bits_of(digit_), from_a, first, rows, partitions, to);
      continue;
    }
    auto const* const from_b =
        two ? b.source.read(first, rows, b.width, space.staging.data() + kStagingBytes) : nullptr;
    if (by_keys) {
      kernel.scatter_keys(bits_of(digit_), from_a, from_b, rows, partitions, to);
      continue;
    }
    this->digits(first, rows, digits.data());
    kernel.scatter(digits.data(), from_a, from_b, rows, partitions, to);
  }
  kernel.drain(partitions, to);
  bool const is_whole = std::equal(ends, ends + partitions, to.positions);
  scratch.put_back(std::move(space));
  GARUDA_TRY(check_cancelled(&control));
  if (!is_whole) return fail(ErrorCode::invalid_input, "a key column was changed while it was read");
  return {};
}

std::vector<std::array<std::size_t, 2>> pair_streams(std::span<Stream const> streams) {
  std::vector<std::array<std::size_t, 2>> groups;
  std::optional<std::size_t> waiting;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].width != 4 && streams[i].width != 8) {
      groups.push_back({i, kNoStream});
    } else if (waiting) {
      groups.push_back({*std::exchange(waiting, std::nullopt), i});
    } else {
      waiting = i;
    }
  }
  if (waiting) groups.push_back({*waiting, kNoStream});
  return groups;
}

}  // namespace garuda::partition
