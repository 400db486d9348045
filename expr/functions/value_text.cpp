#include "expr/functions/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <system_error>

#include "core/type_rows.hpp"
#include "expr/constant_value.hpp"
#include "expr/functions/time_units.hpp"
#include "expr/functions/wide_decimal.hpp"
#include "expr/time_text.hpp"

namespace garuda::expr {
namespace {

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view without_spaces(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Takes a sign off the front; true: it was a minus.
bool take_sign(std::string_view& text) noexcept {
  bool const is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  return is_negative;
}

char* write_digits(UInt128 value, char* to) {
  if (value >> 64 == 0) return std::to_chars(to, to + 20, static_cast<std::uint64_t>(value)).ptr;
  char digits[40];
  auto* first = std::end(digits);
  do {
    *--first = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  return std::copy(first, std::end(digits), to);
}

template <class Float>
char* write_shortest(Float value, char* to) {
  constexpr int kLeastPlain = -4;  // exponents of numbers that are written without one
  constexpr int kMostPlain = 15;
  if (!std::isfinite(value)) {
    std::string_view const name = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    return std::copy(name.begin(), name.end(), to);
  }
  char shortest[32];
  auto const* const end = std::to_chars(shortest, std::end(shortest), value, std::chars_format::scientific).ptr;
  auto const* const e = std::find(static_cast<char const*>(shortest), end, 'e');
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  if (exponent < kLeastPlain || exponent > kMostPlain) return std::copy(static_cast<char const*>(shortest), end, to);
  auto const* digit = shortest;
  if (*digit == '-') *to++ = *digit++;
  auto const next = [&] {
    if (digit != e && *digit == '.') ++digit;
    return digit == e ? '0' : *digit++;
  };
  if (exponent < 0) {
    to = std::fill_n(std::copy_n("0.", 2, to), -exponent - 1, '0');
  } else {
    for (int i = 0; i <= exponent; ++i) *to++ = next();
    *to++ = '.';
  }
  do *to++ = next();
  while (digit != e);
  return to;
}

char* write_day(std::int64_t days, char* to) {
  auto const civil = civil_day(days);
  return fmt::format_to(to, "{}{:04}-{:02}-{:02}", civil.year < 0 ? "-" : "", std::abs(civil.year), civil.month,
                        civil.day);
}

char* write_time_of_day(std::int64_t value, TimeUnitRow const& unit, char* to) {
  auto const seconds = value / unit.per_second;
  to = fmt::format_to(to, "{:02}:{:02}:{:02}", seconds / 3'600, seconds / 60 % 60, seconds % 60);
  auto const fraction = value % unit.per_second;
  if (fraction == 0) return to;
  to = fmt::format_to(to, ".{:0{}}", fraction, unit.digits);
  while (to[-1] == '0') --to;
  return to;
}

template <class Float>
bool read_nearest(std::string_view text, TypeId type, Float& to) {
  text = without_spaces(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  auto const* const end = text.data() + text.size();
  auto const [read, error] = std::from_chars(text.data(), end, to);
  if (error == std::errc()) return read == end;
  if (error != std::errc::result_out_of_range || read != end) return false;
  // A number beyond all floats, or between zero and the least one.
  auto const value = constant_value({Constant::Form::number, std::string(text)}, DataType{type});
  to = value && value->place == keys::Place::at ? Float{0} : std::numeric_limits<Float>::infinity();
  if (text.starts_with('-')) to = -to;
  return true;
}

}  // namespace

char* write_decimal(Int128 value, std::int32_t scale, char* to) {
  if (value < 0) *to++ = '-';
  if (scale == 0) return write_digits(magnitude_of(value), to);
  auto const unit = power_of_ten(scale);
  to = write_digits(magnitude_of(value) / unit, to);
  *to++ = '.';
  char digits[40];
  auto const count = write_digits(magnitude_of(value) % unit, digits) - digits;
  to = std::fill_n(to, scale - count, '0');
  return std::copy_n(digits, count, to);
}

char* write_float(float value, char* to) { return write_shortest(value, to); }
char* write_float(double value, char* to) { return write_shortest(value, to); }

char* write_time(std::int64_t value, DataType const& type, char* to) {
  auto const per_day = units_of_day(type);
  auto const days = floor_quotient(value, per_day);
  if (type.id == TypeId::date32 || type.id == TypeId::date64) return write_day(days, to);
  auto const& unit = unit_row(type.unit);
  if (is_time_of_day(type.id)) return write_time_of_day(value, unit, to);
  to = write_day(days, to);
  *to++ = ' ';
  // The day's beginning may lie before the least value of all.
  to = write_time_of_day(static_cast<std::int64_t>(value - Int128{days} * per_day), unit, to);
  return type.timezone.empty() ? to : std::copy_n("+00", 3, to);
}

bool read_boolean(std::string_view text, std::uint8_t& to) noexcept {
  constexpr std::string_view kTrue[] = {"true", "t", "yes", "y", "1"};
  constexpr std::string_view kFalse[] = {"false", "f", "no", "n", "0"};
  text = without_spaces(text);
  auto const is_same = [&](std::string_view name) {
    return std::ranges::equal(text, name,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  };
  to = std::ranges::any_of(kTrue, is_same) ? 1 : 0;
  return to != 0 || std::ranges::any_of(kFalse, is_same);
}

bool read_integer(std::string_view text, Int128& to) noexcept {
  text = without_spaces(text);
  bool const is_negative = take_sign(text);
  to = 0;
  if (text.empty()) return false;
  for (auto const c : text) {
    if (!is_digit(c)) return false;
    if (to < Int128{1} << 100) to = 10 * to + (c - '0');  // from there on beyond all integers
  }
  if (is_negative) to = -to;
  return true;
}

bool read_decimal(std::string_view text, std::int32_t scale, Int128& to) noexcept {
  constexpr auto kBeyond = static_cast<Int128>(power_of_ten(kDecimal128Digits));  // all decimals
  text = without_spaces(text);
  bool const is_negative = take_sign(text);
  auto const mantissa = text.substr(0, std::min(text.find_first_of("eE"), text.size()));
  auto const point = std::min(mantissa.find('.'), mantissa.size());
  std::int64_t exponent = 0;
  if (mantissa.size() < text.size()) {
    auto written = text.substr(mantissa.size() + 1);
    if (written.starts_with('+') && written.substr(1, 1) != "-") written.remove_prefix(1);
    std::int32_t value = 0;
    auto const [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (written.empty() || error != std::errc() || end != written.data() + written.size()) return false;
    exponent = value;
  }
  to = 0;
  auto const append = [&](int digit) { to = to < kBeyond / 10 ? 10 * to + digit : kBeyond; };
  bool has_digits = false;
  // The power of ten that a digit stands for; those below the scale's are left out, and the first of them rounds.
  auto power = static_cast<std::int64_t>(point) - 1 + exponent;
  for (auto const& c : mantissa) {
    if (c == '.' && &c == mantissa.data() + point) continue;
    if (!is_digit(c)) return false;
    has_digits = true;
    if (power >= -scale) append(c - '0');
    if (power == -scale - 1 && c >= '5') ++to;
    --power;
  }
  for (; power >= -scale && to != 0 && to < kBeyond; --power) append(0);
  if (is_negative) to = -to;
  return has_digits;
}

bool read_float(std::string_view text, float& to) { return read_nearest(text, TypeId::float32, to); }
bool read_float(std::string_view text, double& to) { return read_nearest(text, TypeId::float64, to); }

bool read_time(std::string_view text, DataType const& type, std::int64_t& to) {
  text = without_spaces(text);
  std::optional<TimeCount> time;
  if (type.id == TypeId::date32 || type.id == TypeId::date64)
    time = parse_date(text);
  else if (is_time_of_day(type.id))
    time = parse_time_of_day(text, type.unit);
  else if (time = parse_timestamp(text, type.unit, false); !time)
    time = parse_timestamp(text, type.unit, true);
  if (!time) return false;
  if (type.id == TypeId::date64) time->units *= units_of_day(type);
  to = static_cast<std::int64_t>(time->units);
  return Int128{to} == time->units;
}

}  // namespace garuda::expr
