#include "operators/pipeline/key_filter.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/shortage.hpp"
#include "core/type_rows.hpp"
#include "expr/columns.hpp"

namespace garuda::pipeline {
namespace {

/// Most values of a range: its bits lie in a last-level cache.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 26;
/// Rows of which it is known whether few or many of them go on.
constexpr std::uint64_t kCountedRows = std::uint64_t{1} << 12;

/// Calls body(value_at, valid, first row, count) for the blocks of a column. valid: as in expr::Vector.
template <class Body>
Result<void> for_values(TableView const& table, std::size_t column, Body const& body) {
  GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(table, column));
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  for (std::uint64_t begin = 0; begin < rows; begin += expr::kVectorRows) {
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, rows - begin));
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

Result<std::optional<KeyFilter>> KeyFilter::create(TableView const& build, std::size_t column) {
  return or_out_of_memory("a filter of keys", [&]() -> Result<std::optional<KeyFilter>> {
    auto min = std::numeric_limits<std::int64_t>::max();
    auto max = std::numeric_limits<std::int64_t>::min();
    GARUDA_TRY(for_values(build, column, [&](auto const* values, auto const* valid, std::uint64_t, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (valid != nullptr && valid[i] == 0) continue;
        min = std::min<std::int64_t>(min, values[i]);
        max = std::max<std::int64_t>(max, values[i]);
      }
    }));
    KeyFilter filter;
    filter.min_ = min;
    if (min <= max) {
      auto const last = static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min);
      if (last >= kMostValues) return std::nullopt;
      filter.behind_ = last + 1;
    }
    filter.bits_.resize(filter.behind_ / 64 + 1);
    auto* const bits = filter.bits_.data();
    GARUDA_TRY(for_values(build, column, [&](auto const* values, auto const* valid, std::uint64_t, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (valid != nullptr && valid[i] == 0) continue;
        auto const value = static_cast<std::uint64_t>(std::int64_t{values[i]}) - static_cast<std::uint64_t>(min);
        bits[value / 64] |= std::uint64_t{1} << value % 64;
      }
    }));
    return filter;
  });
}

Result<RowNumbers> KeyFilter::passing(Chunk const& chunk, Slot key) const {
  RowNumbers rows(chunk.num_rows + 1);
  auto* to = rows.data();
  std::array const slots{key};
  auto const min = static_cast<std::uint64_t>(min_);
  auto const behind = behind_;
  auto const* const bits = bits_.data();
  GARUDA_TRY(for_values(table_of(chunk, slots).view(), 0,
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
  auto const* filter = filter_.load(std::memory_order_acquire);
  if (filter == nullptr && probed_.are_few() && !is_begun_.test_and_set()) {
    GARUDA_TRY_ASSIGN(made_, KeyFilter::create(build_, column_));
    filter = made_ ? &*made_ : nullptr;
    filter_.store(filter, std::memory_order_release);
  }
  if (filter == nullptr || filtered_.are_many()) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto rows, filter->passing(chunk, probe_));
  filtered_.add(chunk.num_rows, rows.size());
  return rows;
}

}  // namespace garuda::pipeline
