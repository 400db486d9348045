// Decimals of single rows, in digits of base ten.
#include <algorithm>
#include <cmath>
#include <regex>
#include <vector>

#include "tests/expr/row_values.hpp"

namespace garuda::expr {
namespace {

/// A sign and decimal digits, the last one first, none of them a leading zero.
struct Digits {
  bool is_negative = false;
  std::vector<int> digits{};

  bool is_zero() const { return digits.empty(); }
};

Digits trimmed_digits(Digits value) {
  while (!value.digits.empty() && value.digits.back() == 0) value.digits.pop_back();
  return value;
}

Digits digits_of(Int128 value) {
  Digits made{value < 0, {}};
  for (; value != 0; value /= 10) made.digits.push_back(static_cast<int>(value < 0 ? -(value % 10) : value % 10));
  return made;
}

int compare_magnitudes(Digits const& a, Digits const& b) {
  if (a.digits.size() != b.digits.size()) return a.digits.size() < b.digits.size() ? -1 : 1;
  for (auto i = a.digits.size(); i-- > 0;)
    if (a.digits[i] != b.digits[i]) return a.digits[i] < b.digits[i] ? -1 : 1;
  return 0;
}

/// Adds or subtracts magnitudes; where it subtracts, a is not less than b.
Digits combine_magnitudes(Digits const& a, Digits const& b, int sign) {
  Digits result{a.is_negative, {}};
  int carry = 0;
  for (std::size_t i = 0; i < std::max(a.digits.size(), b.digits.size()) || carry != 0; ++i) {
    auto const first = i < a.digits.size() ? a.digits[i] : 0;
    auto const second = i < b.digits.size() ? b.digits[i] : 0;
    auto const total = first + sign * second + carry;
    carry = total < 0 ? -1 : total / 10;
    result.digits.push_back(total - 10 * carry);
  }
  return trimmed_digits(result);
}

Digits plus(Digits const& a, Digits const& b) {
  if (a.is_negative == b.is_negative) return combine_magnitudes(a, b, 1);
  return compare_magnitudes(a, b) >= 0 ? combine_magnitudes(a, b, -1) : combine_magnitudes(b, a, -1);
}

Digits times(Digits const& a, Digits const& b) {
  Digits result{a.is_negative != b.is_negative, std::vector<int>(a.digits.size() + b.digits.size() + 1)};
  for (std::size_t i = 0; i < a.digits.size(); ++i) {
    int carry = 0;
    for (std::size_t j = 0; j < b.digits.size() || carry != 0; ++j) {
      auto const total = result.digits[i + j] + carry + (j < b.digits.size() ? a.digits[i] * b.digits[j] : 0);
      result.digits[i + j] = total % 10;
      carry = total / 10;
    }
  }
  return trimmed_digits(result);
}

Digits shifted(Digits value, std::int32_t places) {
  if (!value.is_zero()) value.digits.insert(value.digits.begin(), static_cast<std::size_t>(places), 0);
  return value;
}

/// The quotient of magnitudes, and what is left of `a`.
Digits quotient_of(Digits a, Digits b, Digits& rest) {
  bool const is_negative = a.is_negative != b.is_negative;
  rest = {a.is_negative, {}};
  b.is_negative = a.is_negative;
  Digits quotient{is_negative, std::vector<int>(a.digits.size())};
  for (auto i = a.digits.size(); i-- > 0;) {
    rest.digits.insert(rest.digits.begin(), a.digits[i]);
    rest = trimmed_digits(rest);
    while (compare_magnitudes(rest, b) >= 0) {
      rest = combine_magnitudes(rest, b, -1);
      ++quotient.digits[i];
    }
  }
  return trimmed_digits(quotient);
}

Digits one_more(Digits const& value) { return combine_magnitudes(value, digits_of(1), 1); }

/// a / b rounded to a whole number, halves away from zero.
Digits rounded_quotient(Digits const& a, Digits const& b) {
  Digits rest;
  auto const quotient = quotient_of(a, b, rest);
  auto const doubled = combine_magnitudes(rest, rest, 1);
  return compare_magnitudes(doubled, b) >= 0 ? one_more(quotient) : quotient;
}

Digits power(std::int32_t exponent) { return shifted(digits_of(1), exponent); }

Digits in_scale(Digits const& value, std::int32_t from, std::int32_t to) {
  return to >= from ? shifted(value, to - from) : rounded_quotient(value, power(from - to));
}

/// nullopt: it has more digits than the type.
std::optional<Int128> in_type(Digits const& value, std::int32_t scale, DataType const& type) {
  auto const scaled = in_scale(value, scale, type.scale);
  if (scaled.digits.size() > static_cast<std::size_t>(type.precision)) return std::nullopt;
  Int128 result = 0;
  for (auto i = scaled.digits.size(); i-- > 0;) result = 10 * result + scaled.digits[i];
  return scaled.is_negative ? -result : result;
}

Cell settled_cell(Expression const& expression, Digits const& value, std::int32_t scale) {
  auto const result = in_type(value, scale, expression.type);
  return result ? Cell{false, *result, 0} : lost(expression.on_failure);
}

Cell quotient_cell(Expression const& expression, Digits const& a, Digits const& b, std::int32_t a_scale,
                   std::int32_t b_scale) {
  if (b.is_zero()) return lost(expression.on_failure);
  if (expression.function == Function::divide) {
    auto const scale = expression.type.scale;
    return settled_cell(expression, rounded_quotient(shifted(a, scale + b_scale), shifted(b, a_scale)), scale);
  }
  auto const scale = std::max(a_scale, b_scale);
  Digits rest;
  auto const divisor = in_scale(b, b_scale, scale);
  auto quotient = quotient_of(in_scale(a, a_scale, scale), divisor, rest);
  bool const is_floor = expression.function != Function::remainder;
  if (is_floor && !rest.is_zero() && rest.is_negative != b.is_negative) {
    quotient.is_negative = true;
    quotient = one_more(quotient);
    rest = plus(rest, divisor);
  }
  return expression.function == Function::floor_divide ? settled_cell(expression, quotient, 0)
                                                       : settled_cell(expression, rest, scale);
}

/// Rounds to a number of digits behind the point.
Cell rounded_cell(Expression const& expression, Digits const& a, std::int32_t scale) {
  auto const function = expression.function;
  auto const digits = function == Function::round && expression.arguments.size() > 1
                          ? static_cast<std::int32_t>(std::get<std::int64_t>(expression.arguments[1].value))
                          : 0;
  if (digits >= scale) return settled_cell(expression, a, scale);
  auto const unit = power(scale - digits);
  Digits rest;
  auto whole = quotient_of(a, unit, rest);
  whole.is_negative = a.is_negative;
  if (function == Function::round) whole = rounded_quotient(a, unit);
  if (function != Function::round && !rest.is_zero() && a.is_negative == (function == Function::floor))
    whole = one_more(whole);
  return digits < 0 ? settled_cell(expression, shifted(whole, -digits), 0) : settled_cell(expression, whole, digits);
}

}  // namespace

Cell decimal_value(Expression const& expression, Cell const& a, Cell const& b) {
  auto const first = digits_of(a.integer);
  auto second = digits_of(b.integer);
  auto const a_scale = expression.arguments[0].type.scale;
  auto const b_scale = expression.arguments.back().type.scale;
  auto const scale = std::max(a_scale, b_scale);
  switch (expression.function) {
    case Function::subtract:
      second.is_negative = !second.is_negative;
      [[fallthrough]];
    case Function::add:
      return settled_cell(expression, plus(in_scale(first, a_scale, scale), in_scale(second, b_scale, scale)), scale);
    case Function::multiply:
      return settled_cell(expression, times(first, second), a_scale + b_scale);
    case Function::opposite:
    case Function::absolute:
      return settled_cell(expression, {expression.function == Function::opposite && !first.is_negative, first.digits},
                          a_scale);
    case Function::round:
    case Function::floor:
    case Function::ceil:
      return rounded_cell(expression, first, a_scale);
    default:
      return quotient_cell(expression, first, second, a_scale, b_scale);
  }
}

std::optional<Int128> to_decimal(Cell const& from, DataType const& from_type, DataType const& type) {
  if (is_decimal_type(from_type)) return in_type(digits_of(from.integer), from_type.scale, type);
  if (!is_float(from_type)) return in_type(digits_of(from.integer), 0, type);
  auto const scaled = std::round(from.real * std::stod("1e" + std::to_string(type.scale)));
  if (!(std::fabs(scaled) < 0x1p126)) return std::nullopt;
  return in_type(digits_of(static_cast<Int128>(scaled)), type.scale, type);
}

Int128 cut_decimal(Int128 value, std::int32_t scale) {
  for (; scale > 0; --scale) value /= 10;
  return value;
}

std::string decimal_digits(Int128 value, std::int32_t scale) {
  std::string text;
  for (auto const digit : digits_of(value).digits) text.insert(text.begin(), static_cast<char>('0' + digit));
  auto const places = static_cast<std::size_t>(scale);
  while (text.size() <= places) text.insert(text.begin(), '0');
  if (scale > 0) text.insert(text.size() - places, ".");
  return value < 0 ? "-" + text : text;
}

std::optional<Int128> read_decimal_digits(std::string const& text, DataType const& type) {
  std::smatch found;
  auto const bare = without_outer_spaces(text);
  if (!std::regex_match(bare, found, std::regex("([+-]?)([0-9]*)\\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,4}))?")))
    return std::nullopt;
  auto const written = found[2].str() + found[3].str();
  if (written.empty()) return std::nullopt;
  Digits value{found[1] == "-", {}};
  for (auto const c : written) value.digits.insert(value.digits.begin(), c - '0');
  auto scale = static_cast<std::int32_t>(found[3].length()) - (found[4].matched ? std::stoi(found[4]) : 0);
  value = trimmed_digits(value);
  if (scale < 0) value = shifted(value, std::exchange(scale, 0) * -1);
  return in_type(value, scale, type);
}

int order_of(DataType const& a_type, Cell const& a, DataType const& b_type, Cell const& b) {
  if (is_float(a_type)) {
    if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) ? (std::isnan(b.real) ? 0 : 1) : -1;
    return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
  }
  if (is_decimal_type(a_type)) {
    auto const scale = std::max(a_type.scale, b_type.scale);
    auto opposite = in_scale(digits_of(b.integer), b_type.scale, scale);
    opposite.is_negative = !opposite.is_negative;
    auto const difference = plus(in_scale(digits_of(a.integer), a_type.scale, scale), opposite);
    return difference.is_zero() ? 0 : difference.is_negative ? -1 : 1;
  }
  if (auto const sign = a.text.compare(b.text); sign != 0) return sign;
  return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
}

}  // namespace garuda::expr
