#include "expr/constant_value.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/numbers/half_float.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "expr/time_text.hpp"
#include "keys/codes/key_types.hpp"

namespace garuda::expr {
namespace {

using keys::Place;

using keys::Words256;
/// Digits that 256 bits may have.
constexpr std::size_t kMostDigits = 78;

/// The greatest integer that is not beyond a number.
struct Integer {
  bool is_negative = false;
  bool has_rest = false;  ///< the number is greater
  bool is_huge = false;   ///< beyond 256 bits
  Words256 magnitude{};   ///< low word first
};

void add_one(Words256& words) {
  for (auto& word : words)
    if (++word != 0) return;
}

/// digits × 10^exponent
struct Decimal {
  bool is_negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal number;
  auto const skip = [&](char c) {
    bool const is_there = text.starts_with(c);
    if (is_there) text.remove_prefix(1);
    return is_there;
  };
  number.is_negative = skip('-');
  if (!number.is_negative) skip('+');
  auto const take_digits = [&] {
    auto const count = std::min(text.find_first_not_of("0123456789"), text.size());
    number.digits += text.substr(0, count);
    text.remove_prefix(count);
    return count;
  };
  take_digits();
  if (skip('.')) number.exponent = -static_cast<std::int64_t>(take_digits());
  if (number.digits.empty()) return std::nullopt;
  if (!text.empty()) {
    if (!skip('e') && !skip('E')) return std::nullopt;
    if (skip('+') && text.starts_with('-')) return std::nullopt;
    std::int32_t exponent = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
    // Beyond all types either way.
    if (error == std::errc::result_out_of_range)
      exponent = (text.front() == '-' ? -1 : 1) * std::numeric_limits<std::int32_t>::max();
    number.exponent += exponent;
  }
  number.digits.erase(0, std::min(number.digits.find_first_not_of('0'), number.digits.size()));
  return number;
}

/// The floor of the number times 10^scale.
Integer floor_of(Decimal const& number, std::int32_t scale) {
  Integer result{number.is_negative && !number.digits.empty()};
  if (number.digits.empty()) return result;
  auto digits = number.digits;
  auto const shift = number.exponent + scale;
  if (shift < 0) {
    auto const cut_digits = std::min<std::uint64_t>(static_cast<std::uint64_t>(-shift), digits.size());
    auto const kept = digits.size() - cut_digits;
    result.has_rest = digits.find_first_not_of('0', kept) != std::string::npos;
    digits.erase(kept);
  }
  auto const zeros = std::max<std::int64_t>(shift, 0);
  result.is_huge = digits.size() + static_cast<std::uint64_t>(zeros) > kMostDigits;
  if (result.is_huge) return result;
  for (std::int64_t i = 0; i < zeros; ++i) digits += '0';
  for (auto const digit : digits) {
    UInt128 carry = static_cast<unsigned>(digit - '0');
    for (auto& word : result.magnitude) {
      carry += UInt128{word} * 10;
      word = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    result.is_huge = result.is_huge || carry != 0;
  }
  if (result.is_negative && result.has_rest) add_one(result.magnitude);
  return result;
}

Integer floor_of(TimeCount const& count) {
  Integer result{count.units < 0, count.has_rest};
  auto const magnitude = static_cast<UInt128>(count.units < 0 ? -count.units : count.units);
  result.magnitude = {static_cast<std::uint64_t>(magnitude), static_cast<std::uint64_t>(magnitude >> 64), 0, 0};
  return result;
}

std::vector<std::byte> first_bytes(Words256 const& words, std::size_t width) {
  std::vector<std::byte> bytes(width);
  std::memcpy(bytes.data(), words.data(), width);
  return bytes;
}

/// The largest value of integers of `width` bytes.
std::vector<std::byte> largest_integer(std::size_t width, bool is_signed) {
  std::vector<std::byte> bytes(width, std::byte{0xFF});
  if (is_signed) bytes.back() = std::byte{0x7F};
  return bytes;
}

/// Among the integers of `width` bytes.
ConstantValue place_integer(Integer number, std::size_t width, bool is_signed) {
  auto const bits = static_cast<std::uint32_t>(8 * width) - (is_signed ? 1 : 0);
  auto const needed = keys::bit_width(number.magnitude);
  int ones = 0;
  for (auto const word : number.magnitude) ones += std::popcount(word);
  bool const is_least = is_signed && number.is_negative && needed == bits + 1 && ones == 1;
  bool const fits = !number.is_huge && (needed <= bits || is_least);
  bool const is_below_zero = number.is_negative && (needed > 0 || number.is_huge);
  if (is_below_zero && (!is_signed || !fits)) return {Place::below, {}};
  if (!fits) return {Place::above, largest_integer(width, is_signed)};
  if (number.is_negative) number.magnitude = keys::negated(number.magnitude);
  return {number.has_rest ? Place::above : Place::at, first_bytes(number.magnitude, width)};
}

template <class Bits>
std::vector<std::byte> bytes_of(Bits bits) {
  std::vector<std::byte> bytes(sizeof(bits));
  std::memcpy(bytes.data(), &bits, sizeof(bits));
  return bytes;
}

/// Beyond the largest finite number there is infinity alone.
template <class Float>
ConstantValue beyond_finite(bool is_negative) {
  return {Place::above,
          bytes_of(is_negative ? -std::numeric_limits<Float>::infinity() : std::numeric_limits<Float>::max())};
}

template <class Float>
std::optional<ConstantValue> place_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Float value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    auto const number = parse_decimal(text);
    if (!number) return std::nullopt;
    if (number->exponent + static_cast<std::int64_t>(number->digits.size()) > 0)
      return beyond_finite<Float>(number->is_negative);
    value = 0;
  }
  return ConstantValue{Place::at, bytes_of(value)};
}

std::optional<ConstantValue> place_half(std::string_view text) {
  constexpr double kBeyondHalf = 65'520;  // from here on the nearest one is infinity
  constexpr std::uint16_t kLargestHalf = 0x7BFF;
  constexpr std::uint16_t kNegativeInfinity = 0xFC00;
  auto const wide = place_float<double>(text);
  if (!wide) return std::nullopt;
  double value;
  std::memcpy(&value, wide->bytes.data(), sizeof(value));
  bool const is_infinite = std::isinf(value) && wide->place == Place::at;
  if (std::fabs(value) >= kBeyondHalf && !is_infinite)
    return ConstantValue{Place::above, bytes_of(value < 0 ? kNegativeInfinity : kLargestHalf)};
  return ConstantValue{Place::at, bytes_of(half_bits(value))};
}

std::optional<ConstantValue> place_boolean(std::string_view text) {
  if (text != "true" && text != "false") return std::nullopt;
  return ConstantValue{Place::at, {std::byte{text == "true"}}};
}

/// A number and its unit.
std::optional<Integer> parse_duration(std::string_view text, TimeUnit unit) {
  auto const end_of_number = text.find_last_of("0123456789.") + 1;
  auto const number = parse_decimal(text.substr(0, end_of_number));
  auto name = text.substr(end_of_number);
  if (name.starts_with(' ')) name.remove_prefix(1);
  auto const* const row = std::ranges::find(kTimeUnits, name, &TimeUnitRow::name);
  if (!number || row == std::end(kTimeUnits)) return std::nullopt;
  return floor_of(*number, unit_row(unit).digits - row->digits);
}

std::optional<ConstantValue> place_time(std::string_view text, DataType const& type) {
  constexpr std::int64_t kDayMilliseconds = 86'400'000;
  std::optional<TimeCount> time;
  switch (type.id) {
    case TypeId::date32:
      time = parse_date(text);
      break;
    case TypeId::date64:
      time = parse_date(text);
      if (time) time->units *= kDayMilliseconds;
      break;
    case TypeId::timestamp:
      time = parse_timestamp(text, type.unit, !type.timezone.empty());
      break;
    case TypeId::duration: {
      auto const units = parse_duration(text, type.unit);
      if (!units) return std::nullopt;
      return place_integer(*units, sizeof(std::int64_t), true);
    }
    default:
      time = parse_time_of_day(text, type.unit);
  }
  if (!time) return std::nullopt;
  return place_integer(floor_of(*time), static_cast<std::size_t>(byte_width(type)), true);
}

}  // namespace

std::optional<ConstantValue> constant_value(Constant const& constant, DataType const& type) {
  using Form = Constant::Form;
  GARUDA_EXPECTS(constant.form != Form::null);
  auto const& row = type_row(type.id);
  auto const& text = constant.text;
  bool const is_text = constant.form == Form::text;
  switch (row.family) {
    case TypeFamily::boolean:
      return place_boolean(text);
    case TypeFamily::integer:
    case TypeFamily::decimal: {
      auto const number = parse_decimal(text);
      if (!number) return std::nullopt;
      return place_integer(floor_of(*number, type.scale), static_cast<std::size_t>(row.width), row.is_signed);
    }
    case TypeFamily::floating:
      return row.width == 2 ? place_half(text) : row.width == 4 ? place_float<float>(text) : place_float<double>(text);
    case TypeFamily::temporal:
      return is_text ? place_time(text, type) : std::nullopt;
    default: {
      if (!is_text) return std::nullopt;
      auto const* const bytes = reinterpret_cast<std::byte const*>(text.data());
      return ConstantValue{Place::at, {bytes, bytes + text.size()}};
    }
  }
}

std::string_view constant_form(DataType const& type) {
  switch (type_row(type.id).family) {
    case TypeFamily::boolean:
      return "true or false";
    case TypeFamily::integer:
    case TypeFamily::decimal:
      return "a number, as in -12.5";
    case TypeFamily::floating:
      return "a number, as in -12.5e3, 'inf', '-inf' or 'nan'";
    case TypeFamily::temporal:
      break;
    default:
      return "text in single quotes";
  }
  if (type.id == TypeId::date32 || type.id == TypeId::date64) return "a date, as in '2024-02-29'";
  if (type.id == TypeId::duration) return "a number and s, ms, us or ns, as in '1.5 s'";
  if (type.id != TypeId::timestamp) return "a time of day, as in '12:30:00.5'";
  return type.timezone.empty() ? "a date and a time without a zone, as in '2024-02-29 12:30:00.5'"
                               : "a date and a time with a zone, as in '2024-02-29 12:30:00.5Z' or '… 12:30+01:00'";
}

}  // namespace garuda::expr
