#include "bench/workloads/reference_join.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "bench/workloads/random.hpp"

namespace garuda::bench {
namespace {

using RowRange = tbb::blocked_range<std::uint64_t>;

bool is_supported(DataType const& type) noexcept { return type.id == TypeId::int32 || type.id == TypeId::int64; }

/// The bits of a value of 4 or 8 bytes.
std::int64_t value_at(ArrayView const& column, DataType const& type, std::uint64_t row) noexcept {
  return byte_width(type) == 4 ? column.data<std::int32_t>()[row] : column.data<std::int64_t>()[row];
}

std::int64_t value_at(TableView const& table, std::size_t column, std::uint64_t row) noexcept {
  return value_at(table.batch(0).columns[column], table.schema()[column].type, row);
}

void expect_simple(TableView const& table) {
  GARUDA_EXPECTS(table.num_batches() == 1 && table.num_columns() > 0);
  for (std::size_t i = 0; i < table.num_columns(); ++i) {
    GARUDA_EXPECTS(is_supported(table.schema()[i].type));
    GARUDA_EXPECTS(table.batch(0).columns[i].validity == nullptr);
  }
}

void read_row(Batch const& batch, Schema const& schema, std::uint64_t row, std::span<std::int64_t> out) noexcept {
  for (std::size_t column = 0; column < schema.size(); ++column)
    out[column] = value_at(batch.columns[column], schema[column].type, row);
}

Result<void> check_columns(std::span<Batch const> batches) {
  for (auto const& batch : batches) {
    for (auto const& column : batch.columns) {
      if (column.length != batch.num_rows)
        return fail(ErrorCode::device_failure,
                    fmt::format("a result column has {} values in a batch of {} rows", column.length, batch.num_rows));
      if (count_nulls(column) != 0) return fail(ErrorCode::device_failure, "the result has nulls, the inputs none");
    }
  }
  return {};
}

/// The digest of the rows of `width` values that `add_rows(i, row, digest)` makes of every i < n.
template <class AddRows>
RowDigest digest_rows(std::uint64_t n, std::size_t width, AddRows const& add_rows) {
  return tbb::parallel_reduce(
      RowRange(0, n, 1U << 12), RowDigest{},
      [&](RowRange const& range, RowDigest sum) {
        std::vector<std::int64_t> row(width);
        for (auto i = range.begin(); i != range.end(); ++i) add_rows(i, row, sum);
        return sum;
      },
      [](RowDigest a, RowDigest const& b) {
        a.add(b);
        return a;
      });
}

}  // namespace

Result<RowDigest> digest_of(Schema const& schema, std::span<Batch const> batches) {
  GARUDA_TRY(check_columns(batches));
  RowDigest digest;
  for (auto const& batch : batches)
    digest.add(digest_rows(static_cast<std::uint64_t>(batch.num_rows), schema.size(),
                           [&](std::uint64_t i, std::span<std::int64_t> row, RowDigest& sum) {
                             read_row(batch, schema, i, row);
                             sum.add(row);
                           }));
  return digest;
}

void RowDigest::add(std::span<std::int64_t const> row) noexcept {
  std::uint64_t a = 0x243f6a8885a308d3;  // fractional digits of pi: two unrelated starting points
  std::uint64_t b = 0x13198a2e03707344;
  for (auto const value : row) {
    a = mix64(a * 3 + static_cast<std::uint64_t>(value));
    b = mix64(b * 5 ^ static_cast<std::uint64_t>(value));
  }
  add(RowDigest{1, a, b});
}

void RowDigest::add(RowDigest const& other) noexcept {
  rows += other.rows;
  low += other.low;
  high += other.high + (low < other.low ? 1 : 0);
}

ReferenceJoin::ReferenceJoin(TableView left, TableView right) : left_(left), right_(right), schema_(left.schema()) {
  expect_simple(left);
  expect_simple(right);
  schema_.insert(schema_.end(), right.schema().begin() + 1, right.schema().end());
  sorted_left_.resize(static_cast<std::size_t>(left.num_rows()));
  tbb::parallel_for(RowRange(0, sorted_left_.size(), 1U << 14), [&](RowRange const& range) {
    for (auto row = range.begin(); row != range.end(); ++row) sorted_left_[row] = {value_at(left_, 0, row), row};
  });
  tbb::parallel_sort(sorted_left_.begin(), sorted_left_.end(),
                     [](Entry const& a, Entry const& b) { return std::pair(a.key, a.row) < std::pair(b.key, b.row); });
  index_keys();
  digest_ = digest_rows(static_cast<std::uint64_t>(right_.num_rows()), schema_.size(),
                        [&](std::uint64_t right_row, std::span<std::int64_t> row, RowDigest& sum) {
                          for (auto const& entry : matches(value_at(right_, 0, right_row))) {
                            fill_row(entry.row, right_row, row);
                            sum.add(row);
                          }
                        });
}

// About as many ranges as entries, so that a search among keys that lie evenly ends in a cache line or two.
void ReferenceJoin::index_keys() {
  if (sorted_left_.empty()) return;
  auto const span =
      static_cast<std::uint64_t>(sorted_left_.back().key) - static_cast<std::uint64_t>(sorted_left_.front().key);
  auto const span_bits = static_cast<std::uint32_t>(std::bit_width(span));
  auto const index_bits = static_cast<std::uint32_t>(std::bit_width(sorted_left_.size()));
  range_bits_ = span_bits > index_bits ? span_bits - index_bits : 0;
  first_entries_.assign(static_cast<std::size_t>(span >> range_bits_) + 2, sorted_left_.size());
  tbb::parallel_for(RowRange(0, sorted_left_.size(), 1U << 14), [&](RowRange const& range) {
    for (auto i = range.begin(); i != range.end(); ++i) {
      auto const slot = slot_of(sorted_left_[i].key);
      auto const first_of_slots = i == 0 ? 0 : slot_of(sorted_left_[i - 1].key) + 1;
      for (auto s = first_of_slots; s <= slot; ++s) first_entries_[s] = i;
    }
  });
}

std::size_t ReferenceJoin::slot_of(std::int64_t key) const noexcept {
  auto const distance = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(sorted_left_.front().key);
  return static_cast<std::size_t>(distance >> range_bits_);
}

std::span<ReferenceJoin::Entry const> ReferenceJoin::matches(std::int64_t key) const noexcept {
  if (sorted_left_.empty() || key < sorted_left_.front().key || key > sorted_left_.back().key) return {};
  auto const by_key = [](auto const& a, auto const& b) {
    if constexpr (std::is_same_v<std::decay_t<decltype(a)>, Entry>) {
      return a.key < b;
    } else {
      return a < b.key;
    }
  };
  auto const slot = slot_of(key);
  auto const begin = sorted_left_.begin() + static_cast<std::ptrdiff_t>(first_entries_[slot]);
  auto const end = sorted_left_.begin() + static_cast<std::ptrdiff_t>(first_entries_[slot + 1]);
  auto const first = std::lower_bound(begin, end, key, by_key);
  auto const last = std::upper_bound(first, end, key, by_key);
  return {first, last};
}

void ReferenceJoin::fill_row(std::uint64_t left_row, std::uint64_t right_row,
                             std::span<std::int64_t> out) const noexcept {
  auto const num_left = left_.num_columns();
  for (std::size_t i = 0; i < num_left; ++i) out[i] = value_at(left_, i, left_row);
  for (std::size_t i = 1; i < right_.num_columns(); ++i) out[num_left + i - 1] = value_at(right_, i, right_row);
}

Result<void> ReferenceJoin::check(Schema const& schema, std::span<Batch const> batches) const {
  GARUDA_TRY(check_schema(schema));
  GARUDA_TRY_ASSIGN(auto const digest, digest_of(schema, batches));
  if (digest.rows != num_rows())
    return fail(
        ErrorCode::device_failure,
        fmt::format("the result has another number of rows than the reference, {}: {}", num_rows(), digest.rows));
  if (digest == digest_) return {};
  return fail(
      ErrorCode::device_failure,
      fmt::format("the digest of the result's {} rows differs from the reference, {:016x}{:016x}: {:016x}{:016x}",
                  digest.rows, digest_.high, digest_.low, digest.high, digest.low));
}

Result<void> ReferenceJoin::check_schema(Schema const& schema) const {
  auto const same = std::equal(schema.begin(), schema.end(), schema_.begin(), schema_.end(),
                               [](Field const& a, Field const& b) { return a.name == b.name && a.type == b.type; });
  if (same) return {};
  std::vector<std::string> names;
  for (auto const& field : schema) names.push_back(fmt::format("{} {}", field.name, to_string(field.type)));
  return fail(ErrorCode::device_failure,
              fmt::format("the result has other columns than the reference: {}", fmt::join(names, ", ")));
}

}  // namespace garuda::bench
