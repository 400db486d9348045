#include "operators/substrait/read_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "operators/substrait/depth.hpp"
#include "operators/substrait/field_numbers.hpp"

namespace garuda::substrait {
namespace {

/// A type of Substrait: its name, and the column types of its variations, by their numbers.
struct TypeRow {
  TypeField field;
  std::string_view name;
  std::array<TypeId, 3> variations;
  std::size_t num_variations;
};

constexpr TypeRow kTypes[] = {
    {TypeField::boolean, "boolean", {TypeId::boolean}, 1},
    {TypeField::i8, "i8", {TypeId::int8, TypeId::uint8}, 2},
    {TypeField::i16, "i16", {TypeId::int16, TypeId::uint16}, 2},
    {TypeField::i32, "i32", {TypeId::int32, TypeId::uint32}, 2},
    {TypeField::i64, "i64", {TypeId::int64, TypeId::uint64}, 2},
    {TypeField::fp32, "fp32", {TypeId::float32}, 1},
    {TypeField::fp64, "fp64", {TypeId::float64}, 1},
    {TypeField::string, "string", {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view}, 3},
    {TypeField::binary, "binary", {TypeId::binary, TypeId::large_binary, TypeId::binary_view}, 3},
    {TypeField::date, "date", {TypeId::date32, TypeId::date64}, 2},
    {TypeField::fixed_char, "fixed_char", {TypeId::utf8}, 1},
    {TypeField::varchar, "varchar", {TypeId::utf8}, 1},
    {TypeField::fixed_binary, "fixed_binary", {TypeId::fixed_size_binary}, 1},
    {TypeField::decimal, "decimal", {TypeId::decimal128, TypeId::decimal256}, 2},
    {TypeField::precision_time, "precision_time", {TypeId::time32, TypeId::time64}, 2},
    {TypeField::precision_timestamp, "precision_timestamp", {TypeId::timestamp}, 1},
    {TypeField::precision_timestamp_tz, "precision_timestamp_tz", {TypeId::timestamp}, 1},
    {TypeField::old_timestamp, "timestamp", {TypeId::timestamp}, 1},
    {TypeField::old_timestamp_tz, "timestamp_tz", {TypeId::timestamp}, 1},
    {TypeField::old_time, "time", {TypeId::time64}, 1},
    // No column that expressions read has one of these.
    {TypeField::interval_year, "interval_year", {}, 0},
    {TypeField::interval_day, "interval_day", {}, 0},
    {TypeField::interval_compound, "interval_compound", {}, 0},
    {TypeField::uuid, "uuid", {}, 0},
    {TypeField::structure, "struct", {}, 0},
    {TypeField::list, "list", {}, 0},
    {TypeField::map, "map", {}, 0},
    {TypeField::user_defined, "user_defined", {}, 0},
};

Result<std::uint64_t> variation_of(TypeField field, Message const& parameters) {
  switch (field) {
    case TypeField::decimal:
      return parameters.integer(DecimalTypeField::variation);
    case TypeField::fixed_char:
    case TypeField::varchar:
    case TypeField::fixed_binary:
    case TypeField::precision_time:
    case TypeField::precision_timestamp:
    case TypeField::precision_timestamp_tz:
      return parameters.integer(SizedTypeField::variation);
    default:
      return parameters.integer(SimpleTypeField::variation);
  }
}

Result<DataType> decimal_of(TypeId id, Message const& parameters) {
  GARUDA_TRY_ASSIGN(auto const precision, parameters.integer(DecimalTypeField::precision));
  GARUDA_TRY_ASSIGN(auto const scale, parameters.integer(DecimalTypeField::scale));
  auto const most = id == TypeId::decimal256 ? 76U : 38U;
  if (precision == 0 || precision > most || scale > precision)
    return fail(ErrorCode::usage,
                fmt::format("there is no decimal of {} digits, {} of them behind the point", precision, scale));
  return DataType{
      .id = id, .precision = static_cast<std::int32_t>(precision), .scale = static_cast<std::int32_t>(scale)};
}

/// The type of a row with the parameters that the message gives it.
Result<DataType> with_parameters(TypeField field, TypeId id, Message const& parameters) {
  DataType type{id};
  switch (field) {
    case TypeField::decimal:
      return decimal_of(id, parameters);
    case TypeField::fixed_binary: {
      GARUDA_TRY_ASSIGN(auto const size, parameters.integer(SizedTypeField::size));
      if (size > 0x7fff'ffffU) return fail(ErrorCode::usage, fmt::format("there is no binary of {} bytes", size));
      type.fixed_byte_width = static_cast<std::int32_t>(size);
      return type;
    }
    case TypeField::precision_time:
    case TypeField::precision_timestamp:
    case TypeField::precision_timestamp_tz: {
      GARUDA_TRY_ASSIGN(auto const precision, parameters.integer(SizedTypeField::size));
      GARUDA_TRY_ASSIGN(type.unit, unit_of(precision));
      break;
    }
    case TypeField::old_timestamp:
    case TypeField::old_timestamp_tz:
    case TypeField::old_time:
      type.unit = TimeUnit::microsecond;
      break;
    default:
      break;
  }
  if (field == TypeField::precision_timestamp_tz || field == TypeField::old_timestamp_tz) type.timezone = "UTC";
  if (field == TypeField::precision_time)
    type.id = type.unit == TimeUnit::second || type.unit == TimeUnit::millisecond ? TypeId::time32 : TypeId::time64;
  return type;
}

}  // namespace

Result<TimeUnit> unit_of(std::uint64_t precision) {
  constexpr std::array<std::uint64_t, 4> kDigits{0, 3, 6, 9};
  auto const* const found = std::ranges::find(kDigits, precision);
  if (found == kDigits.end())
    return fail(ErrorCode::usage, fmt::format("times have 0, 3, 6 or 9 digits of a second, not {}", precision));
  return static_cast<TimeUnit>(found - kDigits.begin());
}

bool is_decimal(DataType const& type) noexcept {
  return type.id == TypeId::decimal32 || type.id == TypeId::decimal64 || type.id == TypeId::decimal128;
}

Result<DataType> read_type(Message const& type) {
  auto const number = static_cast<TypeField>(type.first_number());
  auto const* const row = std::ranges::find(kTypes, number, &TypeRow::field);
  if (row == std::end(kTypes))
    return fail(ErrorCode::usage, fmt::format("Substrait's types have no such field number: {}", type.first_number()));
  GARUDA_TRY_ASSIGN(auto const parameters, type.message(number));
  GARUDA_TRY_ASSIGN(auto const variation, variation_of(number, parameters));
  if (row->num_variations == 0)
    return fail(ErrorCode::usage, fmt::format("queries do not compute with Substrait's type '{}'", row->name));
  if (variation >= row->num_variations)
    return fail(ErrorCode::usage,
                fmt::format("Substrait's type '{}' has no variation of this number here: {}", row->name, variation));
  return with_parameters(number, row->variations[variation], parameters);
}

Result<std::size_t> count_inner_names(Message const& type, std::size_t depth) {
  if (depth > kMostDepth) return too_deep();
  std::vector<Message> inner;
  std::size_t names = 0;
  if (type.has(TypeField::structure)) {
    GARUDA_TRY_ASSIGN(auto const parameters, type.message(TypeField::structure));
    GARUDA_TRY_ASSIGN(inner, parameters.messages(StructTypeField::types));
    names = inner.size();
  } else if (type.has(TypeField::list)) {
    GARUDA_TRY_ASSIGN(auto const parameters, type.message(TypeField::list));
    GARUDA_TRY_ASSIGN(inner, parameters.messages(ListTypeField::type));
  } else if (type.has(TypeField::map)) {
    GARUDA_TRY_ASSIGN(auto const parameters, type.message(TypeField::map));
    GARUDA_TRY_ASSIGN(inner, parameters.messages(MapTypeField::key));
    GARUDA_TRY_ASSIGN(auto values, parameters.messages(MapTypeField::value));
    inner.insert(inner.end(), values.begin(), values.end());
  }
  for (auto const& one : inner) {
    GARUDA_TRY_ASSIGN(auto const more, count_inner_names(one, depth + 1));
    names += more;
  }
  return names;
}

}  // namespace garuda::substrait
