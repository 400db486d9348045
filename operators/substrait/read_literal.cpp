#include "operators/substrait/read_literal.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>
#include <string_view>

#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/read_type.hpp"

namespace garuda::substrait {
namespace {

/// An integer of `signed_id`, or of the unsigned type of the same width where the variation says so.
Result<Literal> integer(std::uint64_t value, std::uint64_t variation, TypeId signed_id, TypeId unsigned_id) {
  if (variation == 0) return Literal{{signed_id}, static_cast<std::int64_t>(value)};
  auto const bits = 8 * static_cast<std::uint32_t>(byte_width({unsigned_id}));
  auto const mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return Literal{{unsigned_id}, value & mask};
}

Literal text(TypeId id, std::string_view value) { return {{id}, std::string(value)}; }

Result<Literal> decimal(Message const& decimal) {
  GARUDA_TRY_ASSIGN(auto const bytes, decimal.bytes(DecimalLiteralField::value));
  GARUDA_TRY_ASSIGN(auto const precision, decimal.integer(DecimalLiteralField::precision));
  GARUDA_TRY_ASSIGN(auto const scale, decimal.integer(DecimalLiteralField::scale));
  if (bytes.size() != 16)
    return fail(ErrorCode::invalid_input, fmt::format("a constant decimal has 16 bytes, not {}", bytes.size()));
  if (precision == 0 || precision > 38 || scale > precision)
    return fail(ErrorCode::usage,
                fmt::format("there is no decimal of {} digits, {} of them behind the point", precision, scale));
  std::array<std::uint64_t, 2> words{};
  for (std::size_t byte = 0; byte < bytes.size(); ++byte)
    words[byte / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[byte])) << (8 * (byte % 8));
  return Literal{{.id = TypeId::decimal128,
                  .precision = static_cast<std::int32_t>(precision),
                  .scale = static_cast<std::int32_t>(scale)},
                 words};
}

/// A timestamp, or a time of day where `id` says so, with a precision of its own.
Result<Literal> time_of(Message const& value, TypeId id, std::string timezone) {
  GARUDA_TRY_ASSIGN(auto const precision, value.integer(PrecisionLiteralField::precision));
  GARUDA_TRY_ASSIGN(auto const unit, unit_of(precision));
  GARUDA_TRY_ASSIGN(auto const number, value.integer(PrecisionLiteralField::value));
  auto const is_short = unit == TimeUnit::second || unit == TimeUnit::millisecond;
  DataType type{.id = id == TypeId::time64 && is_short ? TypeId::time32 : id, .unit = unit};
  type.timezone = std::move(timezone);
  return Literal{std::move(type), static_cast<std::int64_t>(number)};
}

Result<Literal> microseconds(Message const& literal, LiteralField field, TypeId id, std::string timezone) {
  GARUDA_TRY_ASSIGN(auto const number, literal.integer(field));
  DataType type{.id = id, .unit = TimeUnit::microsecond};
  type.timezone = std::move(timezone);
  return Literal{std::move(type), static_cast<std::int64_t>(number)};
}

/// A null of a type. A type that no expression computes with, DataFusion's Null among them, leaves it to what stands
/// beside the null.
Result<Literal> null_of(Message const& type) {
  auto read = read_type(type);
  return Literal{read ? *std::move(read) : DataType{TypeId::boolean}, {}};
}

Result<Literal> read_text(Message const& literal, LiteralField field, std::uint64_t variation) {
  constexpr std::array kStrings{TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view};
  constexpr std::array kBinaries{TypeId::binary, TypeId::large_binary, TypeId::binary_view};
  if (variation >= kStrings.size())
    return fail(ErrorCode::usage, fmt::format("strings have no variation of this number here: {}", variation));
  if (field == LiteralField::var_char) {
    GARUDA_TRY_ASSIGN(auto const var_char, literal.message(field));
    GARUDA_TRY_ASSIGN(auto const value, var_char.bytes(VarCharLiteralField::value));
    return text(TypeId::utf8, value);
  }
  GARUDA_TRY_ASSIGN(auto const value, literal.bytes(field));
  if (field == LiteralField::fixed_binary)
    return Literal{{.id = TypeId::fixed_size_binary, .fixed_byte_width = static_cast<std::int32_t>(value.size())},
                   std::string(value)};
  return text((field == LiteralField::binary ? kBinaries : kStrings)[variation], value);
}

Result<Literal> read_number(Message const& literal, LiteralField field, std::uint64_t variation) {
  GARUDA_TRY_ASSIGN(auto const value, literal.integer(field));
  switch (field) {
    case LiteralField::boolean:
      return Literal{{TypeId::boolean}, value != 0};
    case LiteralField::i8:
      return integer(value, variation, TypeId::int8, TypeId::uint8);
    case LiteralField::i16:
      return integer(value, variation, TypeId::int16, TypeId::uint16);
    case LiteralField::i32:
      return integer(value, variation, TypeId::int32, TypeId::uint32);
    case LiteralField::i64:
      return integer(value, variation, TypeId::int64, TypeId::uint64);
    case LiteralField::fp32:
      return Literal{{TypeId::float32}, static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)))};
    case LiteralField::fp64:
      return Literal{{TypeId::float64}, std::bit_cast<double>(value)};
    default:
      return Literal{{variation == 1 ? TypeId::date64 : TypeId::date32}, static_cast<std::int64_t>(value)};
  }
}

/// The field that holds the value.
LiteralField value_field(Message const& literal) {
  constexpr std::array kFields{
      LiteralField::boolean,
      LiteralField::i8,
      LiteralField::i16,
      LiteralField::i32,
      LiteralField::i64,
      LiteralField::fp32,
      LiteralField::fp64,
      LiteralField::string,
      LiteralField::binary,
      LiteralField::old_timestamp,
      LiteralField::date,
      LiteralField::old_time,
      LiteralField::fixed_char,
      LiteralField::var_char,
      LiteralField::fixed_binary,
      LiteralField::decimal,
      LiteralField::old_timestamp_tz,
      LiteralField::null,
      LiteralField::precision_time,
      LiteralField::precision_timestamp,
      LiteralField::precision_timestamp_tz,
  };
  for (auto const field : kFields)
    if (literal.has(field)) return field;
  return static_cast<LiteralField>(literal.first_number());
}

Result<void> add_days(Message const& days, Interval& to) {
  GARUDA_TRY_ASSIGN(auto const whole, days.integer(DayToSecondField::days));
  GARUDA_TRY_ASSIGN(auto const seconds, days.integer(DayToSecondField::seconds));
  GARUDA_TRY_ASSIGN(auto const old_microseconds, days.integer(DayToSecondField::old_microseconds));
  GARUDA_TRY_ASSIGN(auto const precision, days.integer(DayToSecondField::precision));
  GARUDA_TRY_ASSIGN(auto const subseconds, days.integer(DayToSecondField::subseconds));
  auto const whole_seconds = static_cast<std::int64_t>(static_cast<std::int32_t>(seconds));
  auto parts = static_cast<std::int64_t>(subseconds);
  for (auto digits = precision; digits < 6; ++digits)
    if (__builtin_mul_overflow(parts, std::int64_t{10}, &parts))
      return fail(ErrorCode::invalid_input, "an interval has too many parts of a second");
  if (precision > 9) return fail(ErrorCode::usage, "intervals have at most 9 digits behind the second's point");
  for (auto digits = precision; digits > 6; --digits) {
    if (parts % 10 != 0) return fail(ErrorCode::usage, "queries do not compute with parts of a microsecond");
    parts /= 10;
  }
  to.days += static_cast<std::int32_t>(whole);
  if (__builtin_add_overflow(parts, whole_seconds * 1'000'000, &parts) ||
      __builtin_add_overflow(parts, static_cast<std::int64_t>(old_microseconds), &to.microseconds))
    return fail(ErrorCode::invalid_input, "an interval has too many parts of a second");
  return {};
}

Result<void> add_months(Message const& months, Interval& to) {
  GARUDA_TRY_ASSIGN(auto const years, months.integer(YearToMonthField::years));
  GARUDA_TRY_ASSIGN(auto const single, months.integer(YearToMonthField::months));
  to.months += 12 * static_cast<std::int64_t>(static_cast<std::int32_t>(years)) + static_cast<std::int32_t>(single);
  return {};
}

}  // namespace

Result<Literal> read_literal(Message const& literal) {
  GARUDA_TRY_ASSIGN(auto const variation, literal.integer(LiteralField::type_variation_reference));
  auto const field = value_field(literal);
  switch (field) {
    case LiteralField::boolean:
    case LiteralField::i8:
    case LiteralField::i16:
    case LiteralField::i32:
    case LiteralField::i64:
    case LiteralField::fp32:
    case LiteralField::fp64:
    case LiteralField::date:
      return read_number(literal, field, variation);
    case LiteralField::string:
    case LiteralField::binary:
    case LiteralField::fixed_char:
    case LiteralField::var_char:
    case LiteralField::fixed_binary:
      return read_text(literal, field, variation);
    case LiteralField::old_timestamp:
      return microseconds(literal, field, TypeId::timestamp, {});
    case LiteralField::old_timestamp_tz:
      return microseconds(literal, field, TypeId::timestamp, "UTC");
    case LiteralField::old_time:
      return microseconds(literal, field, TypeId::time64, {});
    default:
      break;
  }
  GARUDA_TRY_ASSIGN(auto const inner, literal.message(field));
  switch (field) {
    case LiteralField::decimal:
      return decimal(inner);
    case LiteralField::null:
      return null_of(inner);
    case LiteralField::precision_time:
      return time_of(inner, TypeId::time64, {});
    case LiteralField::precision_timestamp:
      return time_of(inner, TypeId::timestamp, {});
    case LiteralField::precision_timestamp_tz:
      return time_of(inner, TypeId::timestamp, "UTC");
    default:
      return fail(ErrorCode::usage, fmt::format("queries have no constants of this field of Substrait's literals: {}",
                                                literal.first_number()));
  }
}

Result<std::optional<Interval>> read_interval(Message const& literal) {
  auto parts = literal;
  if (literal.has(LiteralField::interval_compound)) {
    GARUDA_TRY_ASSIGN(parts, literal.message(LiteralField::interval_compound));
    Interval interval;
    GARUDA_TRY_ASSIGN(auto const months, parts.message(CompoundField::year_to_month));
    GARUDA_TRY_ASSIGN(auto const days, parts.message(CompoundField::day_to_second));
    GARUDA_TRY(add_months(months, interval));
    GARUDA_TRY(add_days(days, interval));
    return interval;
  }
  Interval interval;
  if (literal.has(LiteralField::interval_year_to_month)) {
    GARUDA_TRY_ASSIGN(parts, literal.message(LiteralField::interval_year_to_month));
    GARUDA_TRY(add_months(parts, interval));
    return interval;
  }
  if (literal.has(LiteralField::interval_day_to_second)) {
    GARUDA_TRY_ASSIGN(parts, literal.message(LiteralField::interval_day_to_second));
    GARUDA_TRY(add_days(parts, interval));
    return interval;
  }
  return std::nullopt;
}

}  // namespace garuda::substrait
