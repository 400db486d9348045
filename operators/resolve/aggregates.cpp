#include "operators/resolve/aggregates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "core/escaped_text.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/numbers/exact_rounding.hpp"
#include "core/numbers/half_float.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"

namespace garuda::resolve {
namespace {

using MaybeGroup = std::optional<std::uint64_t>;

/// 10^i, each correctly rounded.
constexpr std::array<double, 77> kPowersOfTen{
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47,
    1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57, 1e58, 1e59, 1e60, 1e61, 1e62, 1e63,
    1e64, 1e65, 1e66, 1e67, 1e68, 1e69, 1e70, 1e71, 1e72, 1e73, 1e74, 1e75, 1e76};

double float_sum(FinaliseInput const& input, std::uint64_t group) {
  if (!input.state.sum_exponent) return round_float_sum(input.state.float_sums, group, input.kind);
  return IntegerSums(input.state, input.kind).rounded(group, *input.state.sum_exponent);
}

MaybeGroup finalise_count(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i) out.put(i, static_cast<std::int64_t>(input.state.counts[groups[i]]));
  return std::nullopt;
}

/// Sums of integers of at most 64 bits, in T.
template <class T>
MaybeGroup finalise_integer_sum(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  IntegerSums const sums(input.state, input.kind);
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    auto const sum = *sums.narrow(groups[i]);
    if (sum < Int128{std::numeric_limits<T>::min()} || sum > Int128{std::numeric_limits<T>::max()}) return groups[i];
    out.put(i, static_cast<T>(sum));
  }
  return std::nullopt;
}

MaybeGroup finalise_decimal_sum(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  constexpr auto kLimit = static_cast<Int128>(power_of_ten(kDecimal128Digits));
  IntegerSums const sums(input.state, input.kind);
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    auto const total = sums.narrow(groups[i]);
    if (!total || *total >= kLimit || *total <= -kLimit) return groups[i];
    out.put(i, *total);
  }
  return std::nullopt;
}

MaybeGroup finalise_float_sum(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i) out.put(i, float_sum(input, groups[i]));
  return std::nullopt;
}

MaybeGroup finalise_float_mean(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    auto const sum = float_sum(input, groups[i]);
    out.put(i, canonical(sum / static_cast<double>(input.state.counts[groups[i]])));
  }
  return std::nullopt;
}

/// Integers and decimals. The scale of an integer is 0.
MaybeGroup finalise_integer_mean(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  IntegerSums const sums(input.state, input.kind);
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    auto const sum = sums.rounded(groups[i], 0);
    auto const mean = sum / static_cast<double>(input.state.counts[groups[i]]);
    out.put(i, canonical(scaled(mean, input.input.scale)));
  }
  return std::nullopt;
}

MaybeGroup write_extremes(contract::Words const& extremes, FinaliseInput const& input, GroupRange const& groups,
                          FinaliseOutput const& out) {
  auto const words = contract::extreme_words(input.kind);
  auto const width = std::max<std::size_t>(static_cast<std::size_t>(byte_width(input.result)), 1);
  for (std::uint64_t i = 0; i < groups.count; ++i) {
    auto const bits = stored_bits(&extremes[words * groups[i]], input.kind, input.result);
    std::memcpy(out.values + i * width, &bits, width);  // little endian: the lowest bytes
  }
  return std::nullopt;
}

MaybeGroup finalise_min(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  return write_extremes(input.state.minima, input, groups, out);
}

MaybeGroup finalise_max(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  return write_extremes(input.state.maxima, input, groups, out);
}

DataType same_type(DataType const& input) { return input; }
DataType int64_type(DataType const&) { return {TypeId::int64}; }
DataType uint64_type(DataType const&) { return {TypeId::uint64}; }
DataType float64_type(DataType const&) { return {TypeId::float64}; }
DataType decimal_sum_type(DataType const& input) {
  return {.id = TypeId::decimal128, .precision = kDecimal128Digits, .scale = input.scale};
}
DataType wide_sum_type(DataType const& input) {
  return {.id = TypeId::decimal256, .precision = kDecimal256Digits, .scale = input.scale};
}

using F = AggregateFunction;
using V = ValueClass;
using M = Making;
constexpr auto kSum = contract::kSumState;
constexpr auto kMean = contract::kSumState | contract::kCountState;
constexpr auto kMin = contract::kMinState;
constexpr auto kMax = contract::kMaxState;
constexpr auto kList = contract::kListState;

constexpr ClassSet kSigned = class_bit(V::signed_integer);
constexpr ClassSet kUnsigned = class_bit(V::unsigned_integer);
constexpr ClassSet kDecimal = class_bit(V::decimal);
constexpr ClassSet kWide = class_bit(V::wide_decimal);
constexpr ClassSet kFloat = class_bit(V::floating);
constexpr ClassSet kTemporal = class_bit(V::temporal);
constexpr ClassSet kBoolean = class_bit(V::boolean);
constexpr ClassSet kBytes = class_bit(V::bytes);
constexpr ClassSet kExact = kSigned | kUnsigned | kDecimal;
constexpr ClassSet kNumber = kExact | kFloat;
constexpr ClassSet kFixed = kNumber | kTemporal | kBoolean;
constexpr ClassSet kEntries = kBytes | kWide;
constexpr ClassSet kOrdered = kFixed | kEntries;
constexpr ClassSet kEveryNumber = kNumber | kWide;
constexpr ClassSet kAll = kOrdered | class_bit(V::none);

constexpr std::array kAggregates{
    AggregateRow{F::count, kAll, M::column, contract::kCountState, 0, int64_type, finalise_count},
    AggregateRow{F::sum, kSigned, M::column, kSum, 1, int64_type, finalise_integer_sum<std::int64_t>},
    AggregateRow{F::sum, kUnsigned, M::column, kSum, 1, uint64_type, finalise_integer_sum<std::uint64_t>},
    AggregateRow{F::sum, kDecimal, M::column, kSum, 1, decimal_sum_type, finalise_decimal_sum},
    AggregateRow{F::sum, kWide, M::moments, kMean, 1, wide_sum_type, finalise_wide_sum},
    AggregateRow{F::sum, kFloat, M::column, kSum, 1, float64_type, finalise_float_sum},
    AggregateRow{F::mean, kExact, M::column, kMean, 1, float64_type, finalise_integer_mean},
    AggregateRow{F::mean, kWide, M::moments, kMean, 1, float64_type, finalise_wide_mean},
    AggregateRow{F::mean, kFloat, M::column, kMean, 1, float64_type, finalise_float_mean},
    AggregateRow{F::min, kFixed, M::column, kMin, 1, same_type, finalise_min},
    AggregateRow{F::min, kEntries, M::column, kMin, 1, same_type, nullptr},
    AggregateRow{F::max, kFixed, M::column, kMax, 1, same_type, finalise_max},
    AggregateRow{F::max, kEntries, M::column, kMax, 1, same_type, nullptr},
    AggregateRow{F::bool_and, kBoolean, M::column, kMin, 1, same_type, finalise_min},
    AggregateRow{F::bool_or, kBoolean, M::column, kMax, 1, same_type, finalise_max},
    AggregateRow{F::var, kEveryNumber, M::moments, kMean, 2, float64_type, finalise_var},
    AggregateRow{F::var_pop, kEveryNumber, M::moments, kMean, 1, float64_type, finalise_var},
    AggregateRow{F::std_dev, kEveryNumber, M::moments, kMean, 2, float64_type, finalise_std},
    AggregateRow{F::std_dev_pop, kEveryNumber, M::moments, kMean, 1, float64_type, finalise_std},
    AggregateRow{F::covar, kEveryNumber, M::moments, kMean, 2, float64_type, finalise_var},
    AggregateRow{F::covar_pop, kEveryNumber, M::moments, kMean, 1, float64_type, finalise_var},
    AggregateRow{F::corr, kEveryNumber, M::moments, kMean, 2, float64_type, finalise_corr},
    AggregateRow{F::first, kAll, M::row, kMin, 1, same_type, nullptr},
    AggregateRow{F::last, kAll, M::row, kMax, 1, same_type, nullptr},
    AggregateRow{F::any, kAll, M::row, kMin, 1, same_type, nullptr},
    AggregateRow{F::arg_min, kAll, M::ranked, kMin, 1, same_type, nullptr},
    AggregateRow{F::arg_max, kAll, M::ranked, kMax, 1, same_type, nullptr},
    AggregateRow{F::count_distinct, kOrdered, M::list, kList, 0, int64_type, finalise_distinct},
    AggregateRow{F::median, kEveryNumber, M::list, kList, 1, float64_type, finalise_quantile},
    AggregateRow{F::median, kTemporal, M::list, kList, 1, same_type, finalise_quantile_value},
    AggregateRow{F::quantile, kEveryNumber, M::list, kList, 1, float64_type, finalise_quantile},
    AggregateRow{F::quantile, kTemporal, M::list, kList, 1, same_type, finalise_quantile_value},
    AggregateRow{F::min_n, kOrdered, M::list, kList, 1, list_of, nullptr},
    AggregateRow{F::max_n, kOrdered, M::list, kList, 1, list_of, nullptr},
    AggregateRow{F::product, kSigned, M::list, kList, 1, int64_type, finalise_product},
    AggregateRow{F::product, kUnsigned, M::list, kList, 1, uint64_type, finalise_product},
};

}  // namespace

ValueSource value_source(DataType const& type) noexcept {
  using K = contract::ValueKind;
  auto const& row = type_row(type.id);
  auto const integer = row.width == 16 ? K::int128 : row.width == 8 ? K::int64 : K::int32;
  switch (row.family) {
    case TypeFamily::integer:
      if (row.is_signed) return {V::signed_integer, integer};
      return {V::unsigned_integer, row.width == 8 ? K::uint64 : K::uint32};
    case TypeFamily::floating:
      return {V::floating, row.width == 8 ? K::float64 : K::float32};
    case TypeFamily::decimal:
      return row.width == 32 ? ValueSource{V::wide_decimal, K::bytes} : ValueSource{V::decimal, integer};
    case TypeFamily::temporal:
      return {V::temporal, integer};
    case TypeFamily::boolean:
      return {V::boolean, K::uint32};
    case TypeFamily::bytes:
      return {V::bytes, K::bytes};
    case TypeFamily::dictionary:
      return type_row(type.value->id).family == TypeFamily::bytes ? ValueSource{V::bytes, K::bytes} : ValueSource{};
    case TypeFamily::interval:
    case TypeFamily::nested:
      break;
  }
  return {};
}

UInt128 value_bits(std::uint64_t const* ordered, contract::ValueKind kind) noexcept {
  switch (kind) {
    case contract::ValueKind::int32:
      return ordered_signed(static_cast<std::uint32_t>(ordered[0]));
    case contract::ValueKind::int64:
      return ordered_signed(ordered[0]);
    case contract::ValueKind::int128:
      return (UInt128{ordered_signed(ordered[1])} << 64) | ordered[0];
    case contract::ValueKind::float32:
      return bits_from_ordered(static_cast<std::uint32_t>(ordered[0]));
    case contract::ValueKind::float64:
      return bits_from_ordered(ordered[0]);
    case contract::ValueKind::bytes:
      return wide_word(ordered);
    case contract::ValueKind::uint32:
    case contract::ValueKind::uint64:
    case contract::ValueKind::none:
      break;
  }
  return ordered[0];
}

UInt128 stored_bits(std::uint64_t const* ordered, contract::ValueKind kind, DataType const& type) noexcept {
  auto const bits = value_bits(ordered, kind);
  return type.id == TypeId::float16 ? half_bits(std::bit_cast<float>(static_cast<std::uint32_t>(bits))) : bits;
}

double scaled(double value, std::int32_t scale) noexcept {
  auto const power = kPowersOfTen[static_cast<std::size_t>(scale < 0 ? -scale : scale)];
  return scale < 0 ? value * power : value / power;
}

double canonical(double value) noexcept { return std::bit_cast<double>(canonical_bits(value)); }

AggregateRow const* find_aggregate(AggregateFunction function, ValueClass value_class) noexcept {
  for (auto const& row : kAggregates)
    if (row.function == function && (row.classes & class_bit(value_class)) != 0) return &row;
  return nullptr;
}

// ---- sums, rounded once ----

double round_to_double(std::span<std::uint64_t const> words, std::int32_t exponent) noexcept {
  ExactInteger total;
  total.count = static_cast<int>(words.size());
  std::ranges::copy(words, total.words);
  return std::bit_cast<double>(round_signed(total, exponent));
}

double round_to_double(Int128 value, std::int32_t exponent) noexcept {
  constexpr std::int32_t kLowestNormal = -1022;
  constexpr std::int32_t kBias = 1023;
  if (value == 0) return 0.0;
  auto const magnitude = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  auto const high = static_cast<std::uint64_t>(magnitude >> 64);
  auto const zeros = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(magnitude));
  // The 63 highest bits, the last one telling whether any is below: the conversion rounds as it would round all of
  // them, and beyond the subnormals scaling rounds no more.
  auto const shifted = magnitude << zeros;
  auto const top = static_cast<std::int64_t>(shifted >> 65) | (shifted << 63 != 0 ? 1 : 0);
  auto const scale = exponent + 65 - zeros;
  if (exponent >= kLowestNormal && scale >= kLowestNormal && scale <= kBias) {
    auto const power = std::bit_cast<double>(static_cast<std::uint64_t>(scale + kBias) << 52);
    auto const rounded = static_cast<double>(top) * power;
    return value < 0 ? -rounded : rounded;
  }
  auto const bits = static_cast<UInt128>(value);
  std::uint64_t const words[]{static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)};
  return round_to_double(words, exponent);
}

std::optional<Int128> IntegerSums::narrow(std::uint64_t group) const noexcept {
  auto const* const words = sums_ + words_ * group;
  if (words_ == 1) return is_signed_ ? Int128{static_cast<std::int64_t>(words[0])} : Int128{words[0]};
  auto const sign = (words[1] >> 63) != 0 ? ~std::uint64_t{0} : 0;
  for (std::uint32_t w = 2; w < words_; ++w)
    if (words[w] != sign) return std::nullopt;
  return static_cast<Int128>(wide_word(words));
}

double IntegerSums::rounded(std::uint64_t group, std::int32_t exponent) const noexcept {
  if (auto const sum = narrow(group)) return round_to_double(*sum, exponent);
  return round_to_double(std::span(sums_ + words_ * group, words_), exponent);
}

double round_float_sum(contract::FloatSums const& sums, std::uint64_t group, contract::ValueKind kind) noexcept {
  auto const first = sums.offsets[group];
  auto const count = static_cast<int>(sums.offsets[group + 1] - first);
  return std::bit_cast<double>(round_windows(sums.flags[group], sums.windows.data() + 2 * first, count,
                                             64 * sums.first_window[group] + contract::unit_exponent(kind)));
}

}  // namespace garuda::resolve

// Aggregates as they are typed, `FN[:COLUMN[:PARAMETER]][=NAME]`.
namespace garuda {
namespace {

using resolve::Parameter;
using F = AggregateFunction;

struct FunctionRow {
  AggregateFunction function;
  std::string_view name;
  Parameter parameter = Parameter::none;
};

/// Names of functions, in the order of AggregateFunction.
constexpr std::array kFunctions{FunctionRow{F::count, "count"},
                                FunctionRow{F::sum, "sum"},
                                FunctionRow{F::min, "min"},
                                FunctionRow{F::max, "max"},
                                FunctionRow{F::mean, "mean"},
                                FunctionRow{F::var, "var"},
                                FunctionRow{F::var_pop, "var_pop"},
                                FunctionRow{F::std_dev, "std"},
                                FunctionRow{F::std_dev_pop, "std_pop"},
                                FunctionRow{F::covar, "covar", Parameter::column},
                                FunctionRow{F::covar_pop, "covar_pop", Parameter::column},
                                FunctionRow{F::corr, "corr", Parameter::column},
                                FunctionRow{F::count_distinct, "count_distinct"},
                                FunctionRow{F::first, "first"},
                                FunctionRow{F::last, "last"},
                                FunctionRow{F::any, "any"},
                                FunctionRow{F::bool_and, "bool_and"},
                                FunctionRow{F::bool_or, "bool_or"},
                                FunctionRow{F::arg_min, "arg_min", Parameter::column},
                                FunctionRow{F::arg_max, "arg_max", Parameter::column},
                                FunctionRow{F::median, "median"},
                                FunctionRow{F::quantile, "quantile", Parameter::share},
                                FunctionRow{F::min_n, "min_n", Parameter::number},
                                FunctionRow{F::max_n, "max_n", Parameter::number},
                                FunctionRow{F::product, "product"}};
static_assert(std::ranges::all_of(kFunctions, [](FunctionRow const& row) {
  return &row == &kFunctions[static_cast<std::size_t>(row.function)];
}));

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<std::string> parse_column(std::string_view text, std::string_view whole) {
  if (text.empty()) return fail(ErrorCode::usage, fmt::format("aggregate has an empty column: {}", whole));
  return unescape(text);
}

std::string_view form_of(Parameter parameter) noexcept {
  switch (parameter) {
    case Parameter::column:
      return "two columns, as in x:y";
    case Parameter::share:
      return "a column and a number within [0, 1], as in x:0.9";
    case Parameter::number:
      return "a column and how many values, 1 to 2147483647, as in x:3";
    case Parameter::none:
      break;
  }
  return "a column";
}

/// The failure of an aggregate that has not what its function takes.
tl::unexpected<Error> wants(Parameter parameter, std::string_view function, std::string_view given) {
  return fail(ErrorCode::usage, fmt::format("{} wants {}: {}", function, form_of(parameter), given));
}

/// `text`: what follows the function's colon.
Result<void> parse_parts(FunctionRow const& row, std::string_view text, std::string_view whole, Aggregate& aggregate) {
  if (row.parameter == Parameter::none) {
    GARUDA_TRY_ASSIGN(aggregate.column, parse_column(text, whole));
    return {};
  }
  auto const colon = find_unescaped(text, ':');
  if (colon == std::string_view::npos) return wants(row.parameter, row.name, whole);
  auto const parameter = text.substr(colon + 1);
  GARUDA_TRY_ASSIGN(aggregate.column, parse_column(text.substr(0, colon), whole));
  if (row.parameter == Parameter::column) {
    GARUDA_TRY_ASSIGN(aggregate.second, parse_column(parameter, whole));
    return {};
  }
  bool const is_number = row.parameter == Parameter::share ? parse_number(parameter, aggregate.quantile)
                                                           : parse_number(parameter, aggregate.most);
  if (is_number) return resolve::check_parameter(aggregate);
  return wants(row.parameter, row.name, whole);
}

Result<Aggregate> parse_aggregate(std::string_view text) {
  Aggregate aggregate;
  auto const equals = find_unescaped(text, '=');
  if (equals != std::string_view::npos) {
    GARUDA_TRY_ASSIGN(aggregate.name, unescape(text.substr(equals + 1)));
    if (aggregate.name->empty()) return fail(ErrorCode::usage, fmt::format("aggregate has an empty name: {}", text));
  }
  auto const call = text.substr(0, equals);
  auto const colon = call.find(':');
  auto const function = call.substr(0, colon);
  auto const* const row = std::ranges::find(kFunctions, function, &FunctionRow::name);
  if (row == kFunctions.end())
    return fail(ErrorCode::usage,
                fmt::format("aggregate must be one of {}: '{}'",
                            fmt::join(kFunctions | std::views::transform(&FunctionRow::name), ", "), function));
  aggregate.function = row->function;
  if (colon != std::string_view::npos) GARUDA_TRY(parse_parts(*row, call.substr(colon + 1), text, aggregate));
  return aggregate;
}

}  // namespace

std::string_view to_string(AggregateFunction function) noexcept {
  return kFunctions[static_cast<std::size_t>(function)].name;
}

Result<std::vector<Aggregate>> parse_aggregates(std::string_view text) {
  std::vector<Aggregate> aggregates;
  if (text.empty()) return aggregates;
  for (auto const part : split_unescaped(text, ',')) {
    GARUDA_TRY_ASSIGN(auto aggregate, parse_aggregate(part));
    aggregates.push_back(std::move(aggregate));
  }
  return aggregates;
}

namespace resolve {

Parameter parameter_of(AggregateFunction function) noexcept {
  return kFunctions[static_cast<std::size_t>(function)].parameter;
}

Result<void> check_parameter(Aggregate const& aggregate) {
  constexpr std::uint64_t kMostElements = 0x7FFF'FFFF;
  auto const parameter = parameter_of(aggregate.function);
  bool const is_right = parameter == Parameter::share ? aggregate.quantile >= 0 && aggregate.quantile <= 1
                        : parameter == Parameter::number
                            ? aggregate.most >= 1 && aggregate.most <= kMostElements
                            : aggregate.second.has_value() == (parameter == Parameter::column);
  if (is_right) return {};
  return wants(parameter, to_string(aggregate.function), default_name(aggregate));
}

std::string default_name(Aggregate const& aggregate) {
  auto name = std::string(to_string(aggregate.function));
  if (aggregate.column) name += fmt::format("_{}", *aggregate.column);
  if (aggregate.second) name += fmt::format("_{}", *aggregate.second);
  auto const parameter = parameter_of(aggregate.function);
  if (parameter == Parameter::share) name += fmt::format("_{}", aggregate.quantile);
  if (parameter == Parameter::number) name += fmt::format("_{}", aggregate.most);
  return name;
}

}  // namespace resolve
}  // namespace garuda
