// Which column types are compared with which.
#include "keys/codes/key_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/type_rows.hpp"

namespace garuda::keys {
namespace {

TypeFamily family_of(DataType const& type) { return type_row(type.id).family; }
bool is_decimal(DataType const& type) { return family_of(type) == TypeFamily::decimal; }
bool is_float(DataType const& type) { return family_of(type) == TypeFamily::floating; }
/// True when every value of integer type `from` is a value of integer type `to`.
bool widens(DataType const& from, DataType const& to) {
  bool const is_signed = type_row(from.id).is_signed;
  if (is_signed == type_row(to.id).is_signed) return byte_width(from) <= byte_width(to);
  return !is_signed && byte_width(from) < byte_width(to);
}

std::optional<DataType> common_integer(DataType const& a, DataType const& b) {
  constexpr std::array kSigned{TypeId::int16, TypeId::int32, TypeId::int64};
  if (widens(a, b)) return b;
  if (widens(b, a)) return a;
  for (auto const id : kSigned)
    if (widens(a, {id}) && widens(b, {id})) return DataType{id};
  return std::nullopt;
}

/// Bits of the integers that a float type holds exactly.
std::int32_t exact_bits(DataType const& type) {
  return type.id == TypeId::float16 ? 11 : type.id == TypeId::float32 ? 24 : 53;
}

/// A float type, and another one or an integer type.
std::optional<DataType> common_float(DataType const& a, DataType const& b) {
  if (is_float(a) && is_float(b)) return byte_width(a) >= byte_width(b) ? a : b;
  auto const& number = is_float(a) ? a : b;
  auto const& integer = is_float(a) ? b : a;
  if (family_of(integer) != TypeFamily::integer) return std::nullopt;
  auto const bits = 8 * byte_width(integer);
  for (auto const id : {TypeId::float32, TypeId::float64})
    if (DataType const type{id}; byte_width(type) >= byte_width(number) && bits <= exact_bits(type)) return type;
  return std::nullopt;
}

/// Decimal digits of the integers of a type.
std::int32_t digits_of(DataType const& type) {
  return is_decimal(type) ? type.precision - type.scale : type_row(type.id).digits;
}

/// Decimals, and a decimal and an integer.
std::optional<DataType> common_decimal(DataType const& a, DataType const& b) {
  DataType common{.id = TypeId::decimal32};
  common.scale = std::max(a.scale, b.scale);
  common.precision = std::max({digits_of(a), digits_of(b), 1 - common.scale}) + common.scale;
  auto const least = std::max(is_decimal(a) ? byte_width(a) : 0, is_decimal(b) ? byte_width(b) : 0);
  for (auto const& row : type_rows()) {
    if (row.family != TypeFamily::decimal || row.width < least || common.precision > row.digits) continue;
    common.id = row.id;
    return common;
  }
  return std::nullopt;
}

/// Dates, times of day, timestamps with a zone or without one, durations: two of one kind.
std::optional<DataType> common_time(DataType const& a, DataType const& b) {
  auto const is_either = [](TypeId id, TypeId one, TypeId other) { return id == one || id == other; };
  if (is_either(a.id, TypeId::date32, TypeId::date64) && is_either(b.id, TypeId::date32, TypeId::date64))
    return DataType{TypeId::date64};
  auto common = a.unit >= b.unit ? a : b;
  if (is_either(a.id, TypeId::time32, TypeId::time64) && is_either(b.id, TypeId::time32, TypeId::time64)) return common;
  if (a.id != b.id || (a.id != TypeId::timestamp && a.id != TypeId::duration)) return std::nullopt;
  if (a.timezone.empty() != b.timezone.empty()) return std::nullopt;
  if (a.timezone != b.timezone) common.timezone = "UTC";
  return common;
}

/// The common type of two types that are no dictionaries.
std::optional<DataType> common_type(DataType const& a, DataType const& b) {
  if (a == b) return a;
  auto const first = family_of(a);
  auto const second = family_of(b);
  if (first == TypeFamily::integer && second == TypeFamily::integer) return common_integer(a, b);
  auto const is_exact = [](TypeFamily family) {
    return family == TypeFamily::integer || family == TypeFamily::decimal;
  };
  if (is_exact(first) && is_exact(second)) return common_decimal(a, b);
  if (is_float(a) || is_float(b)) return common_float(a, b);
  if (first == TypeFamily::temporal && second == TypeFamily::temporal) return common_time(a, b);
  if (first != TypeFamily::bytes || second != TypeFamily::bytes || is_text(a.id) != is_text(b.id)) return std::nullopt;
  return DataType{large_bytes(a.id)};
}

DataType compared_type(std::span<DataType const> types, DataType const& common) {
  auto const family = family_of(common);
  bool const is_scaled = family == TypeFamily::decimal || family == TypeFamily::temporal;
  auto const extends = [&](DataType const& type) { return extends_to(value_type(type), common); };
  if (!is_scaled || common.id == TypeId::decimal256 || std::ranges::all_of(types, extends)) return common;
  return {
      .id = TypeId::decimal128, .precision = type_row(TypeId::decimal128).digits, .scale = value_scale(common).scale};
}

Result<void> check_key_type(Field const& field) {
  if (can_be_compared(field.type)) return {};
  return fail(ErrorCode::invalid_input, fmt::format("column '{}' cannot be a join key, whose types are {}: {}",
                                                    field.name, kComparedTypes, to_string(field.type)));
}

}  // namespace

bool can_be_compared(DataType const& type) noexcept {
  auto const family = family_of(value_type(type));
  return family != TypeFamily::interval && family != TypeFamily::nested;
}

std::optional<CommonKeyType> common_type_of(std::span<DataType const> types) {
  GARUDA_EXPECTS(!types.empty());
  bool has_dictionary = false;
  std::optional<DataType> common = value_type(types.front());
  for (auto const& type : types) {
    if (!can_be_compared(type)) return std::nullopt;
    has_dictionary = has_dictionary || type.id == TypeId::dictionary;
    common = common_type(*common, value_type(type));
    if (!common) return std::nullopt;
  }
  // A value of a dictionary may come in many rows.
  if (has_dictionary && (is_variable_width(*common) || is_view(*common))) *common = DataType{large_bytes(common->id)};
  auto compared = compared_type(types, *common);
  return CommonKeyType{*std::move(common), std::move(compared)};
}

Result<CommonKeyType> common_key_type(Field const& left, Field const& right) {
  GARUDA_TRY(check_key_type(left));
  GARUDA_TRY(check_key_type(right));
  std::array const types{left.type, right.type};
  auto common = common_type_of(types);
  if (common) return *std::move(common);
  return fail(ErrorCode::invalid_input,
              fmt::format("key columns '{}' and '{}' cannot be compared, their types differ: {} and {}", left.name,
                          right.name, to_string(left.type), to_string(right.type)));
}

bool extends_to(DataType const& from, DataType const& to) noexcept {
  auto const family = family_of(from);
  if (family != family_of(to) || byte_width(to) > 16) return false;
  if (family == TypeFamily::integer) return widens(from, to);
  if (family == TypeFamily::decimal) return from.scale == to.scale && byte_width(from) <= byte_width(to);
  return family == TypeFamily::temporal && from.id == to.id && from.unit == to.unit;
}

ValueScale value_scale(DataType const& type) noexcept {
  if (type.id == TypeId::date32) return {86'400, 0};
  if (type.id == TypeId::date64) return {1, unit_row(TimeUnit::millisecond).digits};
  return {1, has_unit(type.id) ? unit_row(type.unit).digits : type.scale};
}

tl::unexpected<Error> key_beyond_64_bits(Field const& field, std::uint64_t row) {
  return fail(ErrorCode::invalid_input, fmt::format("key column '{}' ({}) has a value beyond 64 bits in row {}",
                                                    field.name, to_string(field.type), row));
}

}  // namespace garuda::keys
