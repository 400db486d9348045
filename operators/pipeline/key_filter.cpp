#include "operators/pipeline/key_filter.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "core/type_rows.hpp"
#include "expr/columns.hpp"

namespace garuda::pipeline {
namespace {

/// Most values of a range: its bits lie in a last-level cache.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 26;
/// Rows of which it is known whether few or many of them go on.
constexpr std::uint64_t kCountedRows = std::uint64_t{1} << 12;

/// Calls body(value_at, valid, first row, count) for blocks of the rows [first, last) of a column. valid: as in
/// expr::Vector.
template <class Body>
Result<void> for_values(TableView const& table, std::size_t column, std::uint64_t first, std::uint64_t last,
                        Body const& body) {
  GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(table, column));
  for (auto begin = first; begin < last; begin += expr::kVectorRows) {
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, last - begin));
    auto const vector = reader.read(begin, count);
    auto const with = [&]<class Value>(Value const* values) { body(values, vector.valid, begin, count); };
    if (vector.kind == expr::Kind::int32)
      with(vector.as<std::int32_t>());
    else if (vector.kind == expr::Kind::uint32)
      with(vector.as<std::uint32_t>());
    else
      with(vector.as<std::int64_t>());
  }
  return {};
}

}  // namespace

bool KeyFilter::is_for(DataType const& build, DataType const& probe) noexcept {
  auto const& a = value_type(build);
  auto const& b = value_type(probe);
  for (auto const& type : {a, b}) {
    auto const kind = expr::kind_of(type);
    if (kind != expr::Kind::int32 && kind != expr::Kind::uint32 && kind != expr::Kind::int64) return false;
  }
  return (is_integer(a.id) && is_integer(b.id)) || a == b;
}

KeyFilter::KeyFilter(TableView const& build, std::size_t column)
    : build_(build),
      column_(column),
      num_parts_((static_cast<std::uint64_t>(build.num_rows()) + kBlockRows - 1) / kBlockRows),
      min_(std::numeric_limits<std::int64_t>::max()),
      max_(std::numeric_limits<std::int64_t>::min()) {}

Result<void> KeyFilter::make_part() {
  return or_out_of_memory("a filter of keys", [&]() -> Result<void> {
    auto const state = this->state();
    if (state > State::bits) return {};
    auto& parts = state == State::range ? range_parts_ : bit_parts_;
    auto const part = parts.begun.fetch_add(1, std::memory_order_relaxed);
    // Without rows there is one part, which has none.
    auto const num_parts = std::max<std::uint64_t>(num_parts_, 1);
    if (part >= num_parts) return {};
    auto const first = part * kBlockRows;
    auto const last = std::min(first + kBlockRows, static_cast<std::uint64_t>(build_.num_rows()));
    GARUDA_TRY(state == State::range ? find_range(first, last) : set_bits(first, last));
    if (parts.done.fetch_add(1, std::memory_order_acq_rel) + 1 < num_parts) return {};
    if (state == State::range)
      end_range();
    else
      state_.store(State::made, std::memory_order_release);
    return {};
  });
}

Result<void> KeyFilter::find_range(std::uint64_t first, std::uint64_t last) {
  auto min = std::numeric_limits<std::int64_t>::max();
  auto max = std::numeric_limits<std::int64_t>::min();
  GARUDA_TRY(for_values(build_, column_, first, last,
                        [&](auto const* values, auto const* valid, std::uint64_t, std::size_t count) {
                          for (std::size_t i = 0; i < count; ++i) {
                            if (valid != nullptr && valid[i] == 0) continue;
                            min = std::min<std::int64_t>(min, values[i]);
                            max = std::max<std::int64_t>(max, values[i]);
                          }
                        }));
  for (auto least = min_.load(); min < least && !min_.compare_exchange_weak(least, min);) {
  }
  for (auto greatest = max_.load(); max > greatest && !max_.compare_exchange_weak(greatest, max);) {
  }
  return {};
}

void KeyFilter::end_range() {
  if (min_ <= max_) {
    auto const last = static_cast<std::uint64_t>(max_.load()) - static_cast<std::uint64_t>(min_.load());
    if (last >= kMostValues) return state_.store(State::too_wide, std::memory_order_release);
    behind_ = last + 1;
  }
  bits_.resize(behind_ / 64 + 1);
  state_.store(State::bits, std::memory_order_release);
}

Result<void> KeyFilter::set_bits(std::uint64_t first, std::uint64_t last) {
  auto const min = static_cast<std::uint64_t>(min_.load());
  auto* const bits = bits_.data();
  // Keys that follow each other often share a word, which other threads may write, too.
  std::uint64_t word = 0;
  std::uint64_t mask = 0;
  auto const write = [&] { std::atomic_ref(bits[word]).fetch_or(mask, std::memory_order_relaxed); };
  GARUDA_TRY(for_values(build_, column_, first, last,
                        [&](auto const* values, auto const* valid, std::uint64_t, std::size_t count) {
                          for (std::size_t i = 0; i < count; ++i) {
                            if (valid != nullptr && valid[i] == 0) continue;
                            auto const value = static_cast<std::uint64_t>(std::int64_t{values[i]}) - min;
                            if (value / 64 != word) {
                              write();
                              word = value / 64;
                              mask = 0;
                            }
                            mask |= std::uint64_t{1} << value % 64;
                          }
                        }));
  write();
  return {};
}

Result<RowNumbers> KeyFilter::passing(Chunk const& chunk, Slot key) const {
  RowNumbers rows(chunk.num_rows + 1);
  auto* to = rows.data();
  std::array const slots{key};
  auto const min = static_cast<std::uint64_t>(min_.load(std::memory_order_relaxed));
  auto const behind = behind_;
  auto const* const bits = bits_.data();
  GARUDA_TRY(for_values(table_of(chunk, slots).view(), 0, 0, chunk.num_rows,
                        [&](auto const* values, auto const* valid, std::uint64_t begin, std::size_t count) {
                          // The place behind the last row that passes is written always, and kept where the row passes.
                          for (std::size_t i = 0; i < count; ++i) {
                            auto const value =
                                std::min(static_cast<std::uint64_t>(std::int64_t{values[i]}) - min, behind);
                            auto const is_there = bits[value / 64] >> value % 64 & (valid == nullptr ? 1U : valid[i]);
                            *to = static_cast<std::int64_t>(begin + i);
                            to += is_there;
                          }
                        }));
  rows.resize(static_cast<std::size_t>(to - rows.data()));
  return rows;
}

void MissFilter::Counts::add(std::uint64_t more_rows, std::uint64_t more_kept) noexcept {
  rows.fetch_add(more_rows, std::memory_order_relaxed);
  kept.fetch_add(more_kept, std::memory_order_relaxed);
}

bool MissFilter::Counts::are_few() const noexcept {
  auto const all = rows.load(std::memory_order_relaxed);
  return all >= kCountedRows && kept.load(std::memory_order_relaxed) < all / 2;
}

bool MissFilter::Counts::are_many() const noexcept {
  auto const all = rows.load(std::memory_order_relaxed);
  return all >= kCountedRows && kept.load(std::memory_order_relaxed) > all - all / 4;
}

Result<std::optional<RowNumbers>> MissFilter::passing(Chunk const& chunk) const {
  // Beside its chunk a thread makes a few parts, so that all of them together have the filter soon.
  constexpr int kPartsAtOnce = 4;
  for (int part = 0; part < kPartsAtOnce && filter_.state() < KeyFilter::State::made && probed_.are_few(); ++part)
    GARUDA_TRY(filter_.make_part());
  if (filter_.state() != KeyFilter::State::made || filtered_.are_many()) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto rows, filter_.passing(chunk, probe_));
  filtered_.add(chunk.num_rows, rows.size());
  return rows;
}

}  // namespace garuda::pipeline
