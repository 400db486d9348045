#include "partition/radix_partition.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "keys/numbering/mix.hpp"
#include "partition/scatter.hpp"

namespace garuda::partition {
namespace {

/// Most counters that the chunks of one pass have together, 8 bytes each.
constexpr std::uint64_t kMaxCounters = std::uint64_t{1} << 22;
/// A partition of the first of two passes with more than so many times the mean is cut among the threads.
constexpr std::uint64_t kLargeShare = 4;
constexpr std::size_t kRangeTasks = 256;
/// Keys whose range has at most so many values a row: the ranges of partitions follow from it.
constexpr std::uint64_t kDenseRange = 2;
/// Several chunks a thread, so that a thread that the machine holds up does not hold up the others.
constexpr std::uint64_t kChunksPerThread = 4;
constexpr std::uint64_t kRowsPerCounter = 256;

struct RawDigit {
  std::uint32_t shift;
  std::uint32_t mask;
  template <class Word>
  std::uint32_t operator()(Word key) const noexcept {
    return static_cast<std::uint32_t>(key >> shift) & mask;
  }
};

struct MixedDigit {
  std::uint32_t bits;
  std::uint32_t skipped;
  template <class Word>
  std::uint32_t operator()(Word key) const noexcept {
    return static_cast<std::uint32_t>(keys::hash_digit(keys::mix(key), bits, skipped));
  }
};

template <class Visitor>
auto visit_digit(RadixDigit digit, Visitor const& visit) {
  if (digit.mixed) return visit(MixedDigit{digit.bits, digit.shift});
  return visit(RawDigit{digit.shift, (std::uint32_t{1} << digit.bits) - 1});
}

/// Cuts rows into consecutive chunks, a few a thread: fewer when there are few rows or many partitions, so that
/// counters neither outnumber the rows by much nor grow beyond kMaxCounters. Every chunk has fewer rows than the one
/// before, by as many each time, so that threads that take them in turn end together: the last of n has
/// 2 / (n (n + 1)) of the rows. Source: trapezoid self-scheduling, Tzen and Ni, IEEE TPDS 1993.
struct Chunks {
  std::uint64_t rows = 0;
  std::uint64_t count = 1;

  Chunks(std::uint64_t num_rows, std::uint64_t partitions) : rows(num_rows) {
    auto const threads = static_cast<std::uint64_t>(oneapi::tbb::this_task_arena::max_concurrency());
    // Every chunk writes its first and last line of each partition in part.
    auto const fewest_rows = std::max<std::uint64_t>(partitions * kRowsPerCounter, 1U << 14);
    count = std::clamp<std::uint64_t>(
        num_rows / fewest_rows, 1,
        std::max<std::uint64_t>(std::min(kChunksPerThread * threads, kMaxCounters / partitions), 1));
  }
  /// Cut before.
  Chunks(std::uint64_t num_rows, std::uint64_t num_chunks, int) : rows(num_rows), count(num_chunks) {}

  std::uint64_t begin(std::uint64_t chunk) const {
    auto const whole = count * (count + 1);
    auto const before = chunk * (2 * count - chunk + 1);
    // rows × before / whole in an order that cannot overflow.
    return rows / whole * before + rows % whole * before / whole;
  }
};

/// The first error that any of several tasks met.
class FirstError {
 public:
  void keep(Result<void> outcome) {
    if (outcome) return;
    std::lock_guard const lock(mutex_);
    if (result_) result_ = std::move(outcome);
  }
  Result<void> result() { return std::move(result_); }

 private:
  std::mutex mutex_;
  Result<void> result_;
};

template <class Word>
PartitionedKeys::Range range_of(std::span<Word const> words) {
  auto min = std::numeric_limits<Word>::max();
  Word max = 0;
  for (auto const word : words) {
    min = std::min(min, word);
    max = std::max(max, word);
  }
  return {min, max};
}

/// Counts the digits of keys [first, first + rows), chunk by chunk.
Result<DigitCounts> count_digits(Scatter const& scatter, RadixDigit digit, std::uint64_t first, std::uint64_t rows,
                                 Control const& control) {
  auto const partitions = scatter.partitions();
  Chunks const chunks(rows, partitions);
  DigitCounts result;
  result.digit = digit;
  result.chunks = chunks.count;
  GARUDA_TRY_ASSIGN(result.counts, AlignedBuffer::allocate(
                                       static_cast<std::int64_t>(chunks.count * partitions * sizeof(std::uint64_t))));
  auto* const counts = result.counts.as<std::uint64_t>();
  GARUDA_TRY(for_each_block_in_turn(chunks.count, &control, [&](std::size_t chunk) {
    scatter.count(first + chunks.begin(chunk), first + chunks.begin(chunk + 1), counts + chunk * partitions, control);
  }));
  return result;
}

KeyWords words_of(keys::EncodedKeys const& keys) {
  KeyWords words;
  if (keys.key_bits == 32)
    words.words32 = static_cast<std::uint32_t const*>(keys.words);
  else
    words.words64 = static_cast<std::uint64_t const*>(keys.words);
  return words;
}

Result<DigitCounts> count_digits(keys::EncodedKeys const& keys, RadixDigit digit, Control const& control) {
  return count_digits(Scatter(words_of(keys), digit, best_instruction_set()), digit, 0, keys.num_rows, control);
}

/// The rows of each partition.
std::vector<std::uint64_t> totals_of(DigitCounts const& counts) {
  auto const partitions = std::uint64_t{1} << counts.digit.bits;
  std::vector<std::uint64_t> totals(partitions);
  auto const* const all = counts.counts.as<std::uint64_t>();
  for (std::uint64_t i = 0; i < counts.chunks * partitions; ++i) totals[i & (partitions - 1)] += all[i];
  return totals;
}

/// Rows above what a partition of balanced keys would hold, over all partitions.
std::uint64_t surplus_rows(std::vector<std::uint64_t> const& totals, std::uint64_t num_rows) {
  auto const limit = kRawBalance * (num_rows / totals.size()) + kBalanceSlackRows;
  std::uint64_t surplus = 0;
  for (auto rows : totals)
    if (rows > limit) surplus += rows - limit;
  return surplus;
}

/// Number of lowest bits that all keys of both sides have in common.
std::uint32_t common_low_bits(keys::EncodedKeys const& left, keys::EncodedKeys const& right) {
  auto common = std::min(left.common_low_bits, right.common_low_bits);
  if (left.num_rows > 0 && right.num_rows > 0 && left.min != right.min)
    common = std::min(common, static_cast<std::uint32_t>(std::countr_zero(left.min ^ right.min)));
  return common;
}

Result<DigitChoice> decide(keys::EncodedKeys const& left, keys::EncodedKeys const& right, std::uint32_t bits,
                           Control const& control) {
  auto const key_bits = left.key_bits;
  // One bit less than the key has, so that a shift by shared_low_bits stays defined.
  RadixDigit const raw{bits, std::min(common_low_bits(left, right), key_bits - 1 - bits), false};
  RadixDigit const mixed{bits, 0, true};
  if (bits == 0) return DigitChoice{raw, {}, {}};
  std::array<keys::EncodedKeys const*, 2> const sides{&left, &right};
  std::array<DigitCounts, 2> counts;
  for (std::size_t s = 0; s < 2; ++s) {
    GARUDA_TRY_ASSIGN(counts[s], count_digits(*sides[s], raw, control));
  }
  for (std::size_t s = 0; s < 2; ++s) {
    auto const rows = sides[s]->num_rows;
    auto const surplus = surplus_rows(totals_of(counts[s]), rows);
    auto const gain = rows / kMixedGain;
    if (surplus <= gain) continue;
    GARUDA_TRY_ASSIGN(auto mixed_counts, count_digits(*sides[s], mixed, control));
    if (surplus_rows(totals_of(mixed_counts), rows) + gain >= surplus) continue;
    std::array<DigitCounts, 2> chosen;
    chosen[s] = std::move(mixed_counts);
    return DigitChoice{mixed, std::move(chosen[0]), std::move(chosen[1])};
  }
  return DigitChoice{raw, std::move(counts[0]), std::move(counts[1])};
}

/// Turns the counts of all chunks into first positions: partition by partition, in a partition chunk by chunk, which
/// keeps rows in order. Returns partitions + 1 offsets, counted from `first`.
std::vector<std::uint64_t> place_chunks(std::uint64_t* counts, std::uint64_t chunks, std::uint64_t partitions,
                                        std::uint64_t first) {
  std::vector<std::uint64_t> offsets(partitions + 1);
  for (std::uint64_t c = 0; c < chunks; ++c)
    for (std::uint64_t p = 0; p < partitions; ++p) offsets[p + 1] += counts[c * partitions + p];
  offsets[0] = first;
  for (std::uint64_t p = 0; p < partitions; ++p) offsets[p + 1] += offsets[p];
  auto next = offsets;
  for (std::uint64_t c = 0; c < chunks; ++c)
    for (std::uint64_t p = 0; p < partitions; ++p) next[p] += std::exchange(counts[c * partitions + p], next[p]);
  return offsets;
}

/// The streams of one partitioning: the keys first, then row ids if any, then the payload.
std::vector<Stream> list_streams(keys::EncodedKeys const& keys, PartitionOptions const& options, bool wide_rows) {
  std::vector<Stream> streams;
  streams.push_back({keys.key_bits / 8, StreamSource::array(keys.words), nullptr});
  auto const* const rows = keys.row_ids.data();
  if (options.row_ids)
    streams.push_back(
        {wide_rows ? 8U : 4U, rows == nullptr ? StreamSource::numbers() : StreamSource::array(rows), nullptr});
  for (auto const& column : options.payload)
    streams.push_back({column.width, StreamSource::column(column, rows, wide_rows), nullptr});
  return streams;
}

/// Buffers of `rows` elements for every stream, which from then on write there.
Result<std::vector<AlignedBuffer>> allocate_outputs(std::span<Stream> streams, std::uint64_t rows) {
  std::vector<AlignedBuffer> outputs(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    GARUDA_TRY_ASSIGN(outputs[i], AlignedBuffer::allocate(static_cast<std::int64_t>(rows * streams[i].width)));
    streams[i].out = outputs[i].data();
  }
  return outputs;
}

/// The streams of one group from pair_streams.
std::span<Stream const> select(std::array<Stream, 2>& space, std::span<Stream const> streams,
                               std::array<std::size_t, 2> group) {
  space[0] = streams[group[0]];
  if (group[1] == kNoStream) return std::span(space).first(1);
  space[1] = streams[group[1]];
  return space;
}

/// Partitions all keys by one digit, its chunks in parallel. Returns the offsets of the partitions.
Result<std::vector<std::uint64_t>> partition_in_chunks(Scatter const& scatter, std::uint64_t begin, std::uint64_t rows,
                                                       DigitCounts counts, std::span<Stream const> streams,
                                                       ScatterScratch& scratch, Control const& control) {
  auto const partitions = scatter.partitions();
  auto* const starts = counts.counts.as<std::uint64_t>();
  Chunks const chunks(rows, counts.chunks, 0);
  auto offsets = place_chunks(starts, counts.chunks, partitions, begin);
  // A chunk's part of a partition ends where the next chunk's begins.
  auto const ends_of = [&](std::size_t chunk) {
    return chunk + 1 < chunks.count ? starts + (chunk + 1) * partitions : offsets.data() + 1;
  };
  for (auto const group : pair_streams(streams)) {
    std::array<Stream, 2> space;
    auto const moved = select(space, streams, group);
    FirstError failed;
    GARUDA_TRY(for_each_block_in_turn(chunks.count, &control, [&](std::size_t chunk) {
      failed.keep(scatter.move(begin + chunks.begin(chunk), begin + chunks.begin(chunk + 1),
                               starts + chunk * partitions, ends_of(chunk), moved, scratch, control));
    }));
    GARUDA_TRY(failed.result());
  }
  return offsets;
}

/// Partitions keys [begin, end) on the calling thread; writes the partitions' ends.
Result<void> partition_alone(Scatter const& scatter, std::uint64_t begin, std::uint64_t end, std::uint64_t* ends,
                             std::span<Stream const> streams, ScatterScratch& scratch, Control const& control) {
  auto const partitions = scatter.partitions();
  std::vector<std::uint64_t> starts(partitions);
  scatter.count(begin, end, starts.data(), control);
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), begin);
  std::copy(starts.begin() + 1, starts.end(), ends);
  ends[partitions - 1] = end;
  for (auto const group : pair_streams(streams)) {
    std::array<Stream, 2> space;
    GARUDA_TRY(scatter.move(begin, end, starts.data(), ends, select(space, streams, group), scratch, control));
  }
  return {};
}

/// The two digits of two passes that together sort by `digit`, the leading bits first.
std::array<RadixDigit, 2> split_digit(RadixDigit digit, std::uint32_t one_pass_bits) {
  auto const second = std::min(one_pass_bits, (digit.bits + 1) / 2);
  auto const first = digit.bits - second;
  if (digit.mixed) return {RadixDigit{first, digit.shift, true}, RadixDigit{second, digit.shift + first, true}};
  return {RadixDigit{first, digit.shift + second, false}, RadixDigit{second, digit.shift, false}};
}

/// One radix partitioning, from the encoded keys to the result.
class Partitioning {
 public:
  Partitioning(keys::EncodedKeys keys, RadixDigit digit, Control const& control, PartitionOptions options)
      : keys_(std::move(keys)),
        all_keys_{keys_.min, keys_.max},
        num_rows_(keys_.num_rows),
        common_low_bits_(keys_.common_low_bits),
        digit_(digit),
        control_(control),
        options_(std::move(options)),
        wide_rows_(keys_.table_rows > (std::uint64_t{1} << 32)) {
    if (options_.one_pass_bits == 0) options_.one_pass_bits = kOnePassBits;
  }

  Result<PartitionedKeys> run() {
    auto streams = list_streams(keys_, options_, wide_rows_);
    GARUDA_TRY_ASSIGN(auto outputs, allocate_outputs(streams, keys_.num_rows));
    PartitionedKeys out;
    if (digit_.bits <= options_.one_pass_bits) {
      GARUDA_TRY_ASSIGN(out.offsets, one_pass(digit_, words_of(keys_), std::move(options_.counts), streams));
    } else {
      GARUDA_TRY_ASSIGN(out.offsets, two_passes(streams));
    }
    out.key_bits = keys_.key_bits;
    out.wide_row_ids = wide_rows_;
    out.owned_keys = std::move(outputs[0]);
    out.keys = out.owned_keys.data();
    std::size_t next = 1;
    if (options_.row_ids) {
      out.owned_row_ids = std::move(outputs[next++]);
      out.row_ids = out.owned_row_ids.data();
    }
    for (; next < outputs.size(); ++next) out.payload.push_back(std::move(outputs[next]));
    keys_ = {};
    GARUDA_TRY(find_ranges(out));
    return out;
  }

 private:
  Result<std::vector<std::uint64_t>> one_pass(RadixDigit digit, KeyWords words, DigitCounts counts,
                                              std::span<Stream const> streams) {
    Scatter const scatter(words, digit, options_.instructions);
    if (counts.chunks == 0 || counts.digit != digit) {
      GARUDA_TRY_ASSIGN(counts, count_digits(scatter, digit, 0, keys_.num_rows, control_));
    }
    return partition_in_chunks(scatter, 0, keys_.num_rows, std::move(counts), streams, scratch_, control_);
  }

  Result<std::vector<std::uint64_t>> two_passes(std::span<Stream const> last) {
    auto const digits = split_digit(digit_, options_.one_pass_bits);
    std::vector<Stream> first(last.begin(), last.end());
    GARUDA_TRY_ASSIGN(auto const between, allocate_outputs(first, keys_.num_rows));
    GARUDA_TRY_ASSIGN(auto const coarse, one_pass(digits[0], words_of(keys_), {}, first));
    std::vector<Stream> second(last.begin(), last.end());
    for (std::size_t i = 0; i < second.size(); ++i) second[i].source = StreamSource::array(between[i].data());
    KeyWords words;
    if (keys_.key_bits == 32)
      words.words32 = between[0].as<std::uint32_t>();
    else
      words.words64 = between[0].as<std::uint64_t>();
    return second_pass(Scatter(words, digits[1], options_.instructions), coarse, second);
  }

  /// Large partitions of the first pass one after the other, each by all threads; then the small ones side by side.
  Result<std::vector<std::uint64_t>> second_pass(Scatter const& scatter, std::vector<std::uint64_t> const& coarse,
                                                 std::span<Stream const> streams) {
    auto const fine = scatter.partitions();
    auto const num_coarse = coarse.size() - 1;
    auto const large = kLargeShare * (keys_.num_rows / num_coarse) + kBlockRows;
    std::vector<std::uint64_t> offsets(num_coarse * fine + 1);
    std::vector<std::size_t> small;
    for (std::size_t p = 0; p < num_coarse; ++p) {
      auto const rows = coarse[p + 1] - coarse[p];
      if (rows <= large) {
        small.push_back(p);
        continue;
      }
      GARUDA_TRY_ASSIGN(auto counts, count_digits(scatter, {}, coarse[p], rows, control_));
      GARUDA_TRY_ASSIGN(auto const ends,
                        partition_in_chunks(scatter, coarse[p], rows, std::move(counts), streams, scratch_, control_));
      std::copy(ends.begin() + 1, ends.end(), offsets.begin() + static_cast<std::ptrdiff_t>(p * fine + 1));
    }
    FirstError failed;
    GARUDA_TRY(for_each_block(small.size(), &control_, [&](std::size_t i) {
      auto const p = small[i];
      failed.keep(partition_alone(scatter, coarse[p], coarse[p + 1], offsets.data() + p * fine + 1, streams, scratch_,
                                  control_));
    }));
    GARUDA_TRY(failed.result());
    return offsets;
  }

  Result<void> find_ranges(PartitionedKeys& out) const {
    out.ranges.assign(out.offsets.size() - 1, {all_keys_.min, all_keys_.max});
    auto const partitions = out.ranges.size();
    if (is_dense()) {
      for (std::uint32_t p = 0; p < partitions; ++p) out.ranges[p] = dense_range(p);
      return {};
    }
    if (!options_.ranges) return {};
    auto const tasks = std::min<std::size_t>(partitions, kRangeTasks);
    return for_each_block(tasks, &control_, [&](std::size_t task) {
      for (auto p = partitions * task / tasks; p < partitions * (task + 1) / tasks; ++p) {
        auto const begin = out.offsets[p];
        auto const rows = out.offsets[p + 1] - begin;
        out.ranges[p] = out.key_bits == 32 ? range_of(out.keys32().subspan(begin, rows))
                                           : range_of(out.keys64().subspan(begin, rows));
      }
    });
  }

  /// The keys of a raw digit's partitions cannot lie much closer than in all of their range.
  bool is_dense() const {
    return !digit_.mixed && digit_.shift <= common_low_bits_ && all_keys_.max - all_keys_.min < kDenseRange * num_rows_;
  }

  /// The outermost keys within the range of all keys that a raw digit takes to a partition.
  PartitionedKeys::Range dense_range(std::uint32_t partition) const {
    auto const [min, max] = all_keys_;
    // What all keys share below the digit, the digit, and how far the next such key is.
    auto const period = std::uint64_t{1} << (digit_.shift + digit_.bits);
    auto const low = (min & ((std::uint64_t{1} << digit_.shift) - 1)) | (std::uint64_t{partition} << digit_.shift);
    return {min + ((low - min) & (period - 1)), max - ((max - low) & (period - 1))};
  }

  keys::EncodedKeys keys_;
  PartitionedKeys::Range all_keys_;
  std::uint64_t num_rows_;
  std::uint32_t common_low_bits_;
  RadixDigit digit_;
  Control const& control_;
  PartitionOptions options_;
  bool wide_rows_;
  ScatterScratch scratch_;
};

/// Puts all rows into one partition: the buffers change hands.
PartitionedKeys single_partition(keys::EncodedKeys keys) {
  PartitionedKeys out;
  out.key_bits = keys.key_bits;
  out.keys = keys.words;
  out.owned_keys = std::move(keys.owned_words);
  out.owned_row_ids = std::move(keys.row_ids);
  out.row_ids = out.owned_row_ids.data();
  out.wide_row_ids = out.row_ids != nullptr && keys.table_rows > (std::uint64_t{1} << 32);
  out.offsets = {0, keys.num_rows};
  out.ranges = {{keys.min, keys.max}};
  return out;
}

}  // namespace

std::vector<std::optional<std::size_t>> payload_places(std::span<PayloadColumn const> columns) {
  std::vector<PayloadColumn const*> moved;
  std::vector<std::optional<std::size_t>> places;
  for (auto const& column : columns) {
    places.emplace_back();
    if (column.parts.empty()) continue;
    auto const same = std::ranges::find_if(moved, [&](PayloadColumn const* other) {
      return other->width == column.width &&
             std::ranges::equal(other->parts, column.parts, {}, &PayloadColumn::Part::values,
                                &PayloadColumn::Part::values);
    });
    places.back() = static_cast<std::size_t>(same - moved.begin());
    if (same == moved.end()) moved.push_back(&column);
  }
  return places;
}

std::uint32_t partition_of(std::uint64_t key, RadixDigit digit) noexcept {
  return visit_digit(digit, [key](auto digit_of) { return digit_of(key); });
}

std::uint32_t shared_low_bits(RadixDigit digit) noexcept { return digit.mixed ? 0 : digit.shift + digit.bits; }

Result<DigitChoice> choose_digit(keys::EncodedKeys const& left, keys::EncodedKeys const& right, std::uint32_t bits,
                                 Control const& control) {
  GARUDA_EXPECTS(bits <= kMaxRadixBits);
  GARUDA_EXPECTS(left.key_bits == right.key_bits);
  GARUDA_EXPECTS(left.key_bits == 32 || left.key_bits == 64);
  return or_out_of_memory("the histograms of the keys", [&] { return decide(left, right, bits, control); });
}

Result<PartitionedKeys> radix_partition(keys::EncodedKeys keys, RadixDigit digit, Control const& control,
                                        PartitionOptions options) {
  GARUDA_EXPECTS(keys.key_bits == 32 || keys.key_bits == 64);
  GARUDA_EXPECTS(digit.bits <= kMaxRadixBits && options.one_pass_bits <= kMaxRadixBits);
  GARUDA_EXPECTS(digit.shift < 64 && digit.shift + digit.bits <= (digit.mixed ? 64 : keys.key_bits));
  for (auto const& column : options.payload)
    GARUDA_EXPECTS(std::has_single_bit(column.width) && column.width <= 16 &&
                   (keys.table_rows == 0 || !column.parts.empty() || column.make));
  return or_out_of_memory("the offsets of the partitions", [&]() -> Result<PartitionedKeys> {
    if (digit.bits == 0) return single_partition(std::move(keys));
    return Partitioning(std::move(keys), digit, control, std::move(options)).run();
  });
}

}  // namespace garuda::partition
