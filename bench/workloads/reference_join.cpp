#include "bench/workloads/reference_join.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "bench/workloads/random.hpp"
#include "core/bitmap.hpp"

namespace garuda::bench {
namespace {

using RowRange = tbb::blocked_range<std::uint64_t>;

bool is_supported(DataType const& type) noexcept { return type.id == TypeId::int32 || type.id == TypeId::int64; }

/// Stands for null, which no generated value of 64 bits is likely to be.
constexpr std::int64_t kNull = 0x6e75'6c6c'6e75'6c6c;

/// The bits of a value of 4 or 8 bytes, or a boolean.
std::int64_t value_at(ArrayView const& column, DataType const& type, std::uint64_t row) noexcept {
  auto const at = static_cast<std::int64_t>(row);
  if (column.is_null(at)) return kNull;
  if (type.id == TypeId::boolean)
    return get_bit(static_cast<std::uint8_t const*>(column.values), column.offset + at) ? 1 : 0;
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
    for (auto const& column : batch.columns)
      if (column.length != batch.num_rows)
        return fail(ErrorCode::device_failure,
                    fmt::format("a result column has {} values in a batch of {} rows", column.length, batch.num_rows));
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

ReferenceJoin::ReferenceJoin(TableView left, TableView right, Matching matching)
    : left_(left), right_(right), matching_(matching) {
  expect_simple(left);
  expect_simple(right);
  sorted_left_.resize(static_cast<std::size_t>(left.num_rows()));
  tbb::parallel_for(RowRange(0, sorted_left_.size(), 1U << 14), [&](RowRange const& range) {
    for (auto row = range.begin(); row != range.end(); ++row) sorted_left_[row] = {value_at(left_, 0, row), row};
  });
  tbb::parallel_sort(sorted_left_.begin(), sorted_left_.end(),
                     [](Entry const& a, Entry const& b) { return std::pair(a.key, a.row) < std::pair(b.key, b.row); });
  index_keys();
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

std::size_t ReferenceJoin::lower_bound(std::int64_t key) const noexcept {
  if (key <= sorted_left_.front().key) return 0;
  if (key > sorted_left_.back().key) return sorted_left_.size();
  auto const slot = slot_of(key);
  auto const begin = sorted_left_.begin() + static_cast<std::ptrdiff_t>(first_entries_[slot]);
  auto const end = sorted_left_.begin() + static_cast<std::ptrdiff_t>(first_entries_[slot + 1]);
  return static_cast<std::size_t>(std::ranges::lower_bound(begin, end, key, {}, &Entry::key) - sorted_left_.begin());
}

std::span<ReferenceJoin::Entry const> ReferenceJoin::matches(std::uint64_t right_row) const noexcept {
  auto const value = value_at(right_, 0, right_row);
  auto const first = matching_ == Matching::less ? std::numeric_limits<std::int64_t>::min() : value;
  auto const last = matching_ == Matching::equal  ? value
                    : matching_ == Matching::band ? value_at(right_, 1, right_row)
                                                  : value - 1;
  if (sorted_left_.empty() || last < sorted_left_.front().key) return {};
  auto const begin = lower_bound(first);
  auto const end = last >= sorted_left_.back().key ? sorted_left_.size() : lower_bound(last + 1);
  return std::span(sorted_left_).subspan(begin, end - begin);
}

void ReferenceJoin::fill_row(std::optional<std::uint64_t> left_row, std::optional<std::uint64_t> right_row,
                             std::span<std::int64_t> out) const noexcept {
  auto const num_left = left_.num_columns();
  for (std::size_t i = 0; i < num_left; ++i) out[i] = left_row ? value_at(left_, i, *left_row) : kNull;
  if (!left_row && matching_ == Matching::equal) out[0] = value_at(right_, 0, *right_row);
  auto const skipped = right_.num_columns() - (out.size() - num_left);
  for (std::size_t i = num_left; i < out.size(); ++i)
    out[i] = right_row ? value_at(right_, skipped + i - num_left, *right_row) : kNull;
}

std::vector<std::uint8_t> ReferenceJoin::matched_left() const {
  std::vector<std::uint8_t> matched(sorted_left_.size());
  tbb::parallel_for(RowRange(0, static_cast<std::uint64_t>(right_.num_rows()), 1U << 12), [&](RowRange const& range) {
    for (auto row = range.begin(); row != range.end(); ++row)
      for (auto const& entry : matches(row)) std::atomic_ref(matched[entry.row]).store(1, std::memory_order_relaxed);
  });
  return matched;
}

RowDigest ReferenceJoin::compute(JoinKind kind) const {
  auto const width = schema_of(kind).size();
  auto const num_left = static_cast<std::uint64_t>(left_.num_rows());
  auto const num_right = static_cast<std::uint64_t>(right_.num_rows());
  bool const keeps_left = kind == JoinKind::left || kind == JoinKind::full;
  bool const keeps_right = kind == JoinKind::right || kind == JoinKind::full;
  bool const is_outer = kind == JoinKind::inner || keeps_left || keeps_right;
  RowDigest digest;
  if (is_outer)
    digest = digest_rows(num_right, width, [&](std::uint64_t right, std::span<std::int64_t> row, RowDigest& sum) {
      auto const found = matches(right);
      for (auto const& entry : found) {
        fill_row(entry.row, right, row);
        sum.add(row);
      }
      if (!found.empty() || !keeps_right) return;
      fill_row(std::nullopt, right, row);
      sum.add(row);
    });
  if (is_outer && !keeps_left) return digest;
  auto const matched = matched_left();
  digest.add(digest_rows(num_left, width, [&](std::uint64_t left, std::span<std::int64_t> row, RowDigest& sum) {
    bool const is_matched = matched[left] != 0;
    if (kind != JoinKind::mark && is_matched != (kind == JoinKind::semi)) return;
    fill_row(left, std::nullopt, row);
    if (kind == JoinKind::mark) row.back() = is_matched ? 1 : 0;
    sum.add(row);
  }));
  return digest;
}

RowDigest const& ReferenceJoin::digest(JoinKind kind) const {
  auto const [known, is_new] = digests_.try_emplace(kind);
  if (is_new) known->second = compute(kind);
  return known->second;
}

std::uint64_t ReferenceJoin::num_rows(JoinKind kind) const {
  if (matching_ == Matching::equal || kind != JoinKind::inner) return digest(kind).rows;
  return tbb::parallel_reduce(
      RowRange(0, static_cast<std::uint64_t>(right_.num_rows()), 1U << 12), std::uint64_t{0},
      [&](RowRange const& range, std::uint64_t rows) {
        for (auto row = range.begin(); row != range.end(); ++row) rows += matches(row).size();
        return rows;
      },
      std::plus<>());
}

Schema ReferenceJoin::schema_of(JoinKind kind) const {
  auto schema = left_.schema();
  if (kind == JoinKind::semi || kind == JoinKind::anti) return schema;
  if (kind == JoinKind::mark) {
    schema.push_back({"mark", DataType{TypeId::boolean}, false});
    return schema;
  }
  schema.insert(schema.end(), right_.schema().begin() + (matching_ == Matching::equal ? 1 : 0), right_.schema().end());
  return schema;
}

Result<void> ReferenceJoin::check(Schema const& schema, std::span<Batch const> batches, JoinKind kind) const {
  auto const expected_schema = schema_of(kind);
  if (!std::ranges::equal(schema, expected_schema,
                          [](Field const& a, Field const& b) { return a.name == b.name && a.type == b.type; })) {
    std::vector<std::string> names;
    for (auto const& field : schema) names.push_back(fmt::format("{} {}", field.name, to_string(field.type)));
    return fail(ErrorCode::device_failure,
                fmt::format("the result has other columns than the reference: {}", fmt::join(names, ", ")));
  }
  GARUDA_TRY_ASSIGN(auto const found, digest_of(schema, batches));
  auto const& expected = digest(kind);
  if (found.rows != expected.rows)
    return fail(
        ErrorCode::device_failure,
        fmt::format("the result has another number of rows than the reference, {}: {}", expected.rows, found.rows));
  if (found == expected) return {};
  return fail(
      ErrorCode::device_failure,
      fmt::format("the digest of the result's {} rows differs from the reference, {:016x}{:016x}: {:016x}{:016x}",
                  found.rows, expected.high, expected.low, found.high, found.low));
}

}  // namespace garuda::bench
