#include "tests/reference/reference_condition.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/reference/cell_values.hpp"

namespace garuda::reference {
namespace {

/// A number, a float or bytes.
struct Value {
  enum class Kind { number, floating, bytes };

  Kind kind = Kind::bytes;
  std::string text;  ///< of a number its digits, with a sign; or the bytes
  int scale = 0;     ///< of them, digits behind the point
  double floating = 0;
};

double half_of(std::string const& cell) {
  auto const bits = std::strtoul(cell.c_str(), nullptr, 16);
  auto const exponent = static_cast<int>(bits >> 10 & 31);
  auto const fraction = static_cast<double>(bits & 1023);
  auto const sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

int unit_digits(DataType const& type) {
  constexpr int kDigits[] = {0, 3, 6, 9};
  return kDigits[static_cast<int>(type.unit)];
}

Value value_of(DataType const& type, std::string const& cell) {
  switch (type.id) {
    case TypeId::dictionary:
      return value_of(*type.value, cell);
    case TypeId::float16:
      return {Value::Kind::floating, {}, 0, half_of(cell)};
    case TypeId::float32:
    case TypeId::float64:
      return {Value::Kind::floating, {}, 0, float_of(type.id, cell)};
    case TypeId::date32:
      return {Value::Kind::number, std::to_string(std::stoll(cell) * 86'400)};
    case TypeId::date64:
      return {Value::Kind::number, cell, 3};
    case TypeId::time32:
    case TypeId::time64:
    case TypeId::timestamp:
    case TypeId::duration:
      return {Value::Kind::number, cell, unit_digits(type)};
    case TypeId::boolean:
    case TypeId::fixed_size_binary:
    case TypeId::utf8:
    case TypeId::large_utf8:
    case TypeId::utf8_view:
    case TypeId::binary:
    case TypeId::large_binary:
    case TypeId::binary_view:
      return {Value::Kind::bytes, cell};
    default:
      return {Value::Kind::number, cell, type.scale};
  }
}

/// -12.50e3 as digits and a scale.
Value decimal_of(std::string text) {
  Value value{Value::Kind::number, {}};
  auto const e = text.find_first_of("eE");
  if (e != std::string::npos) {
    value.scale = -std::stoi(text.substr(e + 1));
    text.resize(e);
  }
  auto const point = text.find('.');
  if (point != std::string::npos) {
    value.scale += static_cast<int>(text.size() - point - 1);
    text.erase(point, 1);
  }
  if (text.front() == '+') text.erase(0, 1);
  value.text = text;
  return value;
}

long long days_from_civil(long long y, unsigned m, unsigned d) {
  long long days = 0;
  auto const leap = [](long long year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; };
  for (long long year = 1970; year < y; ++year) days += leap(year) ? 366 : 365;
  for (long long year = y; year < 1970; ++year) days -= leap(year) ? 366 : 365;
  constexpr unsigned kMonths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month < m; ++month) days += kMonths[month - 1] + (month == 2 && leap(y) ? 1 : 0);
  return days + d - 1;
}

/// Dates and times, in seconds.
Value time_of(DataType const& type, std::string text) {
  if (type.id == TypeId::duration) {
    auto const space = text.find(' ');
    auto value = decimal_of(text.substr(0, space));
    auto const unit = text.substr(space + 1);
    value.scale += unit == "s" ? 0 : unit == "ms" ? 3 : unit == "us" ? 6 : 9;
    return value;
  }
  long long seconds = 0;
  if (type.id == TypeId::date32 || type.id == TypeId::date64 || type.id == TypeId::timestamp) {
    seconds =
        86'400 * days_from_civil(std::stoll(text.substr(0, 4)), static_cast<unsigned>(std::stoul(text.substr(5, 2))),
                                 static_cast<unsigned>(std::stoul(text.substr(8, 2))));
    text.erase(0, std::min<std::size_t>(text.size(), 11));
  }
  if (!text.empty() && text.back() == 'Z') text.pop_back();
  auto const zone = text.find_first_of("+-");
  if (zone != std::string::npos) {
    auto const minutes = 60 * std::stoi(text.substr(zone + 1, 2)) + std::stoi(text.substr(zone + 4, 2));
    seconds -= (text[zone] == '+' ? 60 : -60) * minutes;
    text.resize(zone);
  }
  std::string fraction;
  if (text.size() > 9) fraction = text.substr(9);
  if (text.size() >= 5) seconds += 3'600 * std::stoi(text.substr(0, 2)) + 60 * std::stoi(text.substr(3, 2));
  if (text.size() >= 8) seconds += std::stoi(text.substr(6, 2));
  if (fraction.empty()) return {Value::Kind::number, std::to_string(seconds)};
  // Seconds before 1970 and a fraction after them: -1 and 0.5 are -0.5, in tenths.
  auto const scale = static_cast<int>(fraction.size());
  long long power = 1;
  for (int i = 0; i < scale; ++i) power *= 10;
  return {Value::Kind::number, std::to_string(seconds * power + std::stoll(fraction)), scale};
}

/// A constant as it is compared with a column of a type.
Value value_of(DataType const& type, Constant const& constant) {
  if (type.id == TypeId::dictionary) return value_of(*type.value, constant);
  // Nothing is rounded to infinity.
  auto const nearest = static_cast<double>(std::strtof(constant.text.c_str(), nullptr));
  if (type.id == TypeId::float32 && !std::isinf(nearest)) return {Value::Kind::floating, {}, 0, nearest};
  if (type.id == TypeId::float16 || type.id == TypeId::float32 || type.id == TypeId::float64)
    return {Value::Kind::floating, {}, 0, std::strtod(constant.text.c_str(), nullptr)};
  if (type.id >= TypeId::date32 && type.id <= TypeId::duration) return time_of(type, constant.text);
  if (value_of(type, std::string("0")).kind == Value::Kind::bytes) return {Value::Kind::bytes, constant.text};
  return decimal_of(constant.text);
}

double double_of(Value const& value) {
  return value.kind == Value::Kind::floating
             ? value.floating
             : std::strtod((value.text + "e" + std::to_string(-value.scale)).c_str(), nullptr);
}

/// Digits without zeros before them.
std::string integer_text(std::string text) {
  bool const is_negative = text.front() == '-';
  text.erase(0, is_negative ? 1 : 0);
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  if (text.empty()) return "0";
  return (is_negative ? "-" : "") + text;
}

/// -1, 0 or 1.
int compare(Value const& a, Value const& b) {
  using Kind = Value::Kind;
  if ((a.kind == Kind::bytes) != (b.kind == Kind::bytes)) throw std::runtime_error("values do not compare");
  if (a.kind == Kind::bytes) return a.text < b.text ? -1 : a.text == b.text ? 0 : 1;
  if (a.kind == Kind::floating || b.kind == Kind::floating) {
    auto const x = double_of(a);
    auto const y = double_of(b);
    if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
    return x < y ? -1 : x == y ? 0 : 1;
  }
  auto const scale = std::max(a.scale, b.scale);
  auto const scaled = [&](Value const& value) {
    return integer_text(value.text + std::string(static_cast<std::size_t>(scale - value.scale), '0'));
  };
  auto const x = scaled(a);
  auto const y = scaled(b);
  if (x == y) return 0;
  DataType integer;
  integer.id = TypeId::int64;
  return is_less(integer, x, y) ? -1 : 1;
}

bool is_true(Comparator comparator, int order) {
  switch (comparator) {
    case Comparator::equal:
      return order == 0;
    case Comparator::not_equal:
      return order != 0;
    case Comparator::less:
      return order < 0;
    case Comparator::less_equal:
      return order <= 0;
    case Comparator::greater:
      return order > 0;
    default:
      return order >= 0;
  }
}

class Pair {
 public:
  Pair(RowText const& left, RowText const& right) : left_(left), right_(right) {}

  std::optional<bool> holds(Condition const& condition) const {
    using Kind = Condition::Kind;
    if (condition.kind == Kind::comparison) return holds(condition.comparison);
    if (condition.kind == Kind::negation) {
      auto const part = holds(condition.parts.at(0));
      return part ? std::optional(!*part) : std::nullopt;
    }
    // One false part decides an `and`, one true part an `or`.
    bool const decides = condition.kind == Kind::any;
    std::optional<bool> result = !decides;
    for (auto const& part : condition.parts) {
      auto const of_part = holds(part);
      if (of_part == decides) return decides;
      if (!of_part) result.reset();
    }
    return result;
  }

 private:
  std::size_t column_of(ColumnRef const& reference) const {
    auto const& schema = row(reference).schema;
    for (std::size_t c = 0; c < schema.size(); ++c)
      if (schema[c].name == reference.name) return c;
    throw std::runtime_error("no column " + reference.name);
  }
  RowText const& row(ColumnRef const& reference) const { return reference.side == Side::left ? left_ : right_; }

  std::optional<Value> value(Operand const& operand, Operand const& other) const {
    if (auto const* const column = std::get_if<ColumnRef>(&operand)) {
      auto const c = column_of(*column);
      auto const& cell = row(*column).cells[c];
      return cell ? std::optional(value_of(row(*column).schema[c].type, *cell)) : std::nullopt;
    }
    auto const& constant = std::get<Constant>(operand);
    if (constant.form == Constant::Form::null) return std::nullopt;
    auto const& column = std::get<ColumnRef>(other);
    return value_of(row(column).schema[column_of(column)].type, constant);
  }

  std::optional<bool> holds(Comparison const& comparison) const {
    auto const a = value(comparison.first, comparison.second);
    auto const b = value(comparison.second, comparison.first);
    if (!a || !b) return std::nullopt;
    return is_true(comparison.comparator, compare(*a, *b));
  }

  RowText left_;
  RowText right_;
};

}  // namespace

std::optional<bool> holds(Condition const& condition, RowText const& left, RowText const& right) {
  return Pair(left, right).holds(condition);
}

}  // namespace garuda::reference
