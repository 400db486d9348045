#include "bench/workloads/group_tables.hpp"

#include <fmt/format.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "bench/workloads/random.hpp"
#include "bench/workloads/table_builder.hpp"
#include "bench/workloads/words.hpp"
#include "core/numbers/big_integer.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kValueTypes{Word<ValueType>{"i32", ValueType::i32}, Word<ValueType>{"i64", ValueType::i64},
                                 Word<ValueType>{"f64", ValueType::f64}};

enum class GroupPurpose : std::uint8_t { group, rank_order, value };

std::uint64_t seed_for(std::uint64_t seed, GroupPurpose purpose) noexcept {
  return derive_seed(seed, 100 + static_cast<std::uint64_t>(purpose));
}

/// Key k of a group: k0 is the group, the others have 16 values or fewer.
std::int32_t key_of(std::uint64_t group, std::uint32_t key) noexcept {
  return static_cast<std::int32_t>(key == 0 ? group : mix64(group + key) % 16);
}

std::int64_t value_bits(ValueType type, std::uint64_t seed, std::uint64_t row) noexcept {
  auto const bits = static_cast<std::int64_t>(mix64(seed + row));
  switch (type) {
    case ValueType::i32:
      return bits >> 32;
    case ValueType::i64:
      return bits >> 24;
    case ValueType::f64:
      break;
  }
  return (bits >> 10) | 1;  // odd multiples of 2^-53: no bit of a double is wasted
}

Result<void> add_values(TableBuilder& builder, GroupWorkload const& workload) {
  auto const seed = seed_for(workload.seed, GroupPurpose::value);
  auto const type = workload.value_type;
  auto const bits = [=](std::uint64_t row) { return value_bits(type, seed, row); };
  if (type == ValueType::i32)
    return builder.add_column<std::int32_t>("v",
                                            [=](std::uint64_t row) { return static_cast<std::int32_t>(bits(row)); });
  if (type == ValueType::i64) return builder.add_column<std::int64_t>("v", bits);
  return builder.add_column<double>("v", [=](std::uint64_t row) { return static_cast<double>(bits(row)) * 0x1p-53; });
}

Result<void> check(GroupWorkload const& workload) {
  constexpr std::uint64_t kMaxGroups = std::uint64_t{1} << 31;
  if (workload.groups == 0 || workload.groups > kMaxGroups)
    return fail(ErrorCode::usage, fmt::format("groups out of range [1, 2^31]: {}", workload.groups));
  if (workload.keys == 0 || workload.keys > 64)
    return fail(ErrorCode::usage, fmt::format("keys out of range [1, 64]: {}", workload.keys));
  if (workload.distribution.kind == KeyDistribution::Kind::dense)
    return fail(ErrorCode::usage, "rows of a group-by are distributed uniform or zipf:Z");
  return {};
}

tl::unexpected<Error> differs(std::string text) { return fail(ErrorCode::device_failure, std::move(text)); }

}  // namespace

std::string_view to_string(ValueType type) noexcept { return word_of(kValueTypes, type); }
Result<ValueType> parse_value_type(std::string_view text) { return parse_word("value type", kValueTypes, text); }

Result<Table> generate_group_table(GroupWorkload const& workload) {
  GARUDA_TRY(check(workload));
  auto const is_zipf = workload.distribution.kind == KeyDistribution::Kind::zipf;
  ZipfSampler const zipf(workload.groups, is_zipf ? workload.distribution.exponent : 0);
  Permutation const rank_order(workload.groups, seed_for(workload.seed, GroupPurpose::rank_order));
  auto const seed = seed_for(workload.seed, GroupPurpose::group);
  auto const group = [&](std::uint64_t row) {
    RowRandom random(seed, row);
    return is_zipf ? rank_order(zipf(random)) : random.next_below(workload.groups);
  };
  TableBuilder builder(workload.rows);
  for (std::uint32_t k = 0; k < workload.keys; ++k)
    GARUDA_TRY(builder.add_column<std::int32_t>(fmt::format("k{}", k),
                                                [&](std::uint64_t row) { return key_of(group(row), k); }));
  GARUDA_TRY(add_values(builder, workload));
  return builder.finish();
}

ReferenceGroups::ReferenceGroups(Table const& table, GroupWorkload const& workload)
    : table_(table), workload_(workload), groups_(workload.groups) {
  // Each thread reads all keys and adds up a range of groups, so that nothing is shared.
  auto const parts = static_cast<std::uint64_t>(tbb::info::default_concurrency());
  tbb::parallel_for(std::uint64_t{0}, parts, [&](std::uint64_t part) {
    add_range(workload.groups * part / parts, workload.groups * (part + 1) / parts);
  });
  num_groups_ =
      static_cast<std::uint64_t>(std::ranges::count_if(groups_, [](Group const& group) { return group.count > 0; }));
}

void ReferenceGroups::add_range(std::uint64_t first, std::uint64_t last) {
  auto const* const keys = table_.batches()[0].columns[0].data<std::int32_t>();
  for (std::uint64_t row = 0; row < workload_.rows; ++row) {
    auto const key = static_cast<std::uint64_t>(keys[row]);
    if (key < first || key >= last) continue;
    auto& group = groups_[key];
    auto const v = value(row);
    group.min = group.count == 0 ? v : std::min(group.min, v);
    group.max = group.count == 0 ? v : std::max(group.max, v);
    group.sum_low += v & 0xFFFF'FFFF;
    group.sum_high += v >> 32;
    auto const square = static_cast<UInt128>(Int128{v} * v);
    group.squares_low += static_cast<std::uint64_t>(square);
    group.squares_high += square >> 64;
    ++group.count;
  }
}

std::int64_t ReferenceGroups::value(std::uint64_t row) const noexcept {
  auto const& column = table_.batches()[0].columns.back();
  switch (workload_.value_type) {
    case ValueType::i32:
      return column.data<std::int32_t>()[row];
    case ValueType::i64:
      return column.data<std::int64_t>()[row];
    case ValueType::f64:
      break;
  }
  return static_cast<std::int64_t>(column.data<double>()[row] * 0x1p53);
}

std::int64_t ReferenceGroups::variance_bits(Group const& group) const {
  constexpr std::uint32_t kSpareBits = 320;  // more than a quotient's bits and those of both divisors
  auto const integer = [](UInt128 value) {
    std::uint64_t const words[2] = {static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64)};
    return BigInteger(words, true);
  };
  auto const sum = integer(static_cast<UInt128>((Int128{group.sum_high} << 32) + group.sum_low));
  auto const squares = (integer(group.squares_high) << 64) + integer(group.squares_low);
  auto spread = (BigInteger(group.count) * squares - sum * sum) << kSpareBits;
  bool const has_rest = spread.divide(group.count);
  bool const goes_on = spread.divide(group.count - 1) || has_rest;
  auto const unit = workload_.value_type == ValueType::f64 ? -106 : 0;
  return std::bit_cast<std::int64_t>(spread.round(unit - static_cast<std::int32_t>(kSpareBits), goes_on));
}

Result<void> ReferenceGroups::check_cell(Aggregate const& aggregate, Group const& group, ArrayView const& column,
                                         std::int64_t row) const {
  __extension__ using Wide = __int128;
  auto const sum = (static_cast<Wide>(group.sum_high) << 32) + group.sum_low;
  auto const is_float = workload_.value_type == ValueType::f64;
  auto const scale = is_float ? 0x1p-53 : 1.0;
  std::int64_t expected = 0;
  auto const as_bits = [](double value) { return std::bit_cast<std::int64_t>(value + 0.0); };
  auto const extreme = [&](std::int64_t bits) { return is_float ? as_bits(static_cast<double>(bits) * scale) : bits; };
  switch (aggregate.function) {
    case AggregateFunction::count:
      expected = static_cast<std::int64_t>(group.count);
      break;
    case AggregateFunction::sum:
      // Conversions of 128-bit integers round to nearest even; a power of two then scales without rounding.
      expected = is_float ? as_bits(static_cast<double>(sum) * scale) : static_cast<std::int64_t>(sum);
      break;
    case AggregateFunction::mean:
      expected = as_bits(static_cast<double>(sum) * scale / static_cast<double>(group.count));
      break;
    case AggregateFunction::min:
      expected = extreme(group.min);
      break;
    case AggregateFunction::max:
      expected = extreme(group.max);
      break;
    case AggregateFunction::var:
      if (group.count < 2 && column.is_null(row)) return {};
      expected = group.count < 2 ? 0 : variance_bits(group);
      break;
    default:
      return differs(fmt::format("no reference for {}", to_string(aggregate.function)));
  }
  auto const is_narrow = workload_.value_type == ValueType::i32 &&
                         (aggregate.function == AggregateFunction::min || aggregate.function == AggregateFunction::max);
  auto const actual = is_narrow ? column.data<std::int32_t>()[row] : column.data<std::int64_t>()[row];
  if (actual == expected && !column.is_null(row)) return {};
  return differs(fmt::format("{} is {:#x} in place of {:#x}", to_string(aggregate.function), actual, expected));
}

Result<void> ReferenceGroups::check_row(std::vector<Aggregate> const& aggregates, Batch const& batch, std::int64_t row,
                                        std::vector<bool>& seen) const {
  auto const first = batch.columns[0].data<std::int32_t>()[row];
  if (first < 0 || static_cast<std::uint64_t>(first) >= workload_.groups ||
      groups_[static_cast<std::size_t>(first)].count == 0)
    return differs(fmt::format("no row has the group {}", first));
  auto const g = static_cast<std::size_t>(first);
  if (seen[g]) return differs(fmt::format("group {} comes twice", first));
  seen[g] = true;
  for (std::uint32_t k = 1; k < workload_.keys; ++k)
    if (batch.columns[k].data<std::int32_t>()[row] != key_of(g, k))
      return differs(fmt::format("key k{} of group {} is wrong", k, first));
  for (std::size_t a = 0; a < aggregates.size(); ++a) {
    auto checked = check_cell(aggregates[a], groups_[g], batch.columns[workload_.keys + a], row);
    if (!checked) return tl::unexpected(std::move(checked).error().wrap(fmt::format("group {} is wrong", first)));
  }
  return {};
}

Result<void> ReferenceGroups::check(std::vector<Aggregate> const& aggregates, std::span<Batch const> batches) const {
  std::vector<bool> seen(groups_.size());
  std::uint64_t rows = 0;
  for (auto const& batch : batches) {
    if (batch.columns.size() != workload_.keys + aggregates.size())
      return differs(fmt::format("the result has {} columns", batch.columns.size()));
    for (std::int64_t row = 0; row < batch.num_rows; ++row) GARUDA_TRY(check_row(aggregates, batch, row, seen));
    rows += static_cast<std::uint64_t>(batch.num_rows);
  }
  if (rows != num_groups_) return differs(fmt::format("{} groups in place of {}", rows, num_groups_));
  return {};
}

}  // namespace garuda::bench
