#include "tests/expr/row_interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>

#include "core/numbers/half_float.hpp"
#include "core/type_rows.hpp"

namespace garuda::expr {
namespace {

Cell constant_cell(Scalar const& value) {
  if (auto const* const held = std::get_if<bool>(&value)) return {false, *held ? 1 : 0, 0};
  if (auto const* const held = std::get_if<std::int64_t>(&value)) return {false, *held, 0};
  if (auto const* const held = std::get_if<std::uint64_t>(&value)) return {false, static_cast<Int128>(*held), 0};
  if (auto const* const held = std::get_if<double>(&value)) return {false, 0, *held};
  if (auto const* const held = std::get_if<Int128>(&value)) return {false, *held, 0};
  if (auto const* const held = std::get_if<std::string>(&value)) return {false, 0, 0, *held};
  return {true, 0, 0};
}
Cell both(Cell const& a, Cell const& b, int deciding) {
  for (auto const* const cell : {&a, &b})
    if (!cell->is_null && cell->integer == deciding) return *cell;
  return {a.is_null || b.is_null, 1 - deciding, 0};
}
Cell compared(Expression const& expression, Cell const& a, Cell const& b) {
  if (a.is_null || b.is_null) return {true, 0, 0};
  auto const sign = order_of(expression.arguments[0].type, a, expression.arguments[1].type, b);
  bool const holds[] = {sign == 0, sign != 0, sign<0, sign <= 0, sign> 0, sign >= 0};
  return {false, holds[static_cast<int>(expression.comparator)] ? 1 : 0, 0};
}
Cell fitted(Expression const& expression, Int128 value) {
  auto const& row = type_row(expression.type.id);
  auto const bits = row.width * 8;
  auto const span = Int128{1} << bits;
  auto const low = row.is_signed ? -(span / 2) : Int128{0};
  if (value >= low && value < low + span) return {false, value, 0};
  if (expression.on_failure != OnFailure::wrap) return lost(expression.on_failure);
  auto rest = (value - low) % span;
  if (rest < 0) rest += span;
  return {false, rest + low, 0};
}

/// A failure of what has no value modulo 2^bits.
Cell lost_for_good(Expression const& expression) {
  return lost(expression.on_failure == OnFailure::wrap ? OnFailure::null : expression.on_failure);
}

Cell cast_number(Expression const& expression, Cell const& from) {
  bool const was_float = is_float(expression.arguments[0].type);
  if (expression.type.id == TypeId::boolean)
    return {false, (was_float ? from.real != 0 : from.integer != 0) ? 1 : 0, 0};
  if (is_float(expression.type)) {
    auto const real = was_float ? from.real : static_cast<double>(static_cast<std::int64_t>(from.integer));
    bool const is_single = expression.type.id == TypeId::float32;
    if (!is_single)
      return {false, 0,
              was_float || from.integer >= 0
                  ? (was_float ? real : static_cast<double>(static_cast<std::uint64_t>(from.integer)))
                  : real};
    if (was_float) return {false, 0, static_cast<double>(static_cast<float>(real))};
    return {false, 0,
            from.integer < 0 ? static_cast<float>(static_cast<std::int64_t>(from.integer))
                             : static_cast<float>(static_cast<std::uint64_t>(from.integer))};
  }
  if (is_decimal_type(expression.arguments[0].type))
    return fitted(expression, cut_decimal(from.integer, expression.arguments[0].type.scale));
  if (!was_float) return fitted(expression, from.integer);
  auto const whole = std::trunc(from.real);
  if (!(std::abs(whole) < 0x1p100))
    return lost(expression.on_failure == OnFailure::wrap ? OnFailure::null : expression.on_failure);
  Expression strict = expression;
  if (strict.on_failure == OnFailure::wrap) strict.on_failure = OnFailure::null;
  return fitted(strict, static_cast<Int128>(whole));
}

bool is_string_type(DataType const& type) { return is_text(type.id); }
bool is_time_type(DataType const& type) { return type_row(type.id).family == TypeFamily::temporal; }

Cell cast_to_string(Cell const& from, DataType const& type) {
  if (is_string_type(type)) return from;
  if (type.id == TypeId::boolean) return {false, 0, 0, from.integer != 0 ? "true" : "false"};
  if (is_time_type(type)) return {false, 0, 0, time_digits(from.integer, type)};
  return {false, 0, 0, decimal_digits(from.integer, is_decimal_type(type) ? type.scale : 0)};
}

Cell cast_from_string(Expression const& expression, Cell const& from) {
  auto const text = without_outer_spaces(from.text);
  if (expression.type.id == TypeId::boolean) {
    auto const icase = std::regex::icase;
    if (std::regex_match(text, std::regex("true|t|yes|y|1", icase))) return {false, 1, 0};
    if (std::regex_match(text, std::regex("false|f|no|n|0", icase))) return {false, 0, 0};
    return lost_for_good(expression);
  }
  std::optional<Int128> value;
  if (is_decimal_type(expression.type)) {
    value = read_decimal_digits(text, expression.type);
  } else if (is_time_type(expression.type)) {
    value = read_time_digits(text, expression.type);
  } else if (std::regex_match(text, std::regex("[+-]?[0-9]+"))) {
    DataType wide{TypeId::decimal128};
    wide.precision = 38;
    value = read_decimal_digits(text, wide);
    auto strict = expression;
    strict.on_failure = OnFailure::null;
    if (value && fitted(strict, *value).is_null) value.reset();
  }
  return value ? Cell{false, *value, 0} : lost_for_good(expression);
}

Cell cast_cell(Expression const& expression, Cell const& from) {
  auto const& from_type = expression.arguments[0].type;
  auto const& type = expression.type;
  if (from.is_null) return from;
  if (is_string_type(type)) return cast_to_string(from, from_type);
  if (is_string_type(from_type)) return cast_from_string(expression, from);
  std::optional<Int128> value;
  if (is_decimal_type(type)) {
    value = to_decimal(from, from_type, type);
  } else if (is_time_type(type) && is_time_type(from_type)) {
    value = to_time(from, from_type, type);
  } else if (is_decimal_type(from_type) && is_float(type)) {
    auto const digits = decimal_digits(from.integer, from_type.scale);
    return {false, 0,
            type.id == TypeId::float32 ? static_cast<double>(std::strtof(digits.c_str(), nullptr))
                                       : std::strtod(digits.c_str(), nullptr)};
  } else {
    return cast_number(expression, from);
  }
  return value ? Cell{false, *value, 0} : lost_for_good(expression);
}

Int128 floor_quotient(Int128 a, Int128 b) {
  auto const quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <class Real>
double real(Function function, Real a, Real b) {
  switch (function) {
    case Function::add:
      return a + b;
    case Function::subtract:
      return a - b;
    case Function::multiply:
      return a * b;
    case Function::divide:
      return a / b;
    case Function::floor_divide:
      return std::floor(a / b);
    case Function::remainder:
      return std::fmod(a, b);
    case Function::opposite:
      return -a;
    case Function::absolute:
      return std::fabs(a);
    case Function::floor:
      return std::floor(a);
    case Function::ceil:
      return std::ceil(a);
    default: {
      auto const rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
}
/// Halves away from zero, at a number of digits behind the point.
Cell rounded(Expression const& expression, Cell const& a) {
  auto const digits = std::get<std::int64_t>(expression.arguments[1].value);
  if (is_float(expression.type)) {
    auto const power = std::strtod(("1e" + std::to_string(digits < 0 ? -digits : digits)).c_str(), nullptr);
    auto const value = digits < 0 ? std::round(a.real / power) * power : std::round(a.real * power) / power;
    if (!std::isfinite(value)) return {false, 0, digits < 0 && std::isfinite(a.real) ? 0 : a.real};
    return {false, 0, expression.type.id == TypeId::float32 ? static_cast<double>(static_cast<float>(value)) : value};
  }
  Int128 unit = 1;
  for (auto i = digits; i < 0; ++i) unit *= 10;
  auto const size = a.integer < 0 ? -a.integer : a.integer;
  auto const whole = (size + unit / 2) / unit * unit;
  return fitted(expression, a.integer < 0 ? -whole : whole);
}

Cell computed(Expression const& expression, Cell const& a, Cell const& b) {
  if (a.is_null || b.is_null) return {true, 0, 0};
  auto const function = expression.function;
  if (function == Function::round) return rounded(expression, a);
  if (expression.type.id == TypeId::float32)
    return {false, 0, real(function, static_cast<float>(a.real), static_cast<float>(b.real))};
  if (is_float(expression.type)) return {false, 0, real(function, a.real, b.real)};
  bool const divides = function >= Function::divide && function <= Function::floor_remainder;
  if (divides && b.integer == 0)
    return lost(expression.on_failure == OnFailure::wrap ? OnFailure::null : expression.on_failure);
  switch (function) {
    case Function::add:
      return fitted(expression, a.integer + b.integer);
    case Function::subtract:
      return fitted(expression, a.integer - b.integer);
    case Function::multiply:
      return fitted(expression, a.integer * b.integer);
    case Function::divide:
      return fitted(expression, a.integer / b.integer);
    case Function::remainder:
      return fitted(expression, a.integer % b.integer);
    case Function::floor_divide:
      return fitted(expression, floor_quotient(a.integer, b.integer));
    case Function::floor_remainder:
      return fitted(expression, a.integer - floor_quotient(a.integer, b.integer) * b.integer);
    case Function::absolute:
      return fitted(expression, a.integer < 0 ? -a.integer : a.integer);
    case Function::floor:
    case Function::ceil:
      return a;
    default:
      return fitted(expression, -a.integer);
  }
}

}  // namespace

bool is_float(DataType const& type) { return type_row(type.id).family == TypeFamily::floating; }
bool is_decimal_type(DataType const& type) { return type_row(type.id).family == TypeFamily::decimal; }

Cell lost(OnFailure on_failure) {
  if (on_failure == OnFailure::error) throw Failure{};
  return {true, 0, 0};
}

Cell Interpreter::value(Expression const& expression) const {
  if (expression.form == Expression::Form::column) {
    if (row_[expression.column].is_lost) throw Failure{};
    return row_[expression.column];
  }
  if (expression.form == Expression::Form::constant) return constant_cell(expression.value);
  auto const& arguments = expression.arguments;
  switch (expression.function) {
    case Function::coalesce:
    case Function::least:
    case Function::greatest:
      return chosen(expression);
    case Function::in:
      return is_in(expression);
    default:
      break;
  }
  auto first = value(arguments[0]);
  switch (expression.function) {
    case Function::all:
      if (!first.is_null && first.integer == 0) return first;
      return both(first, value(arguments[1]), 0);
    case Function::any:
      if (!first.is_null && first.integer != 0) return first;
      return both(first, value(arguments[1]), 1);
    case Function::negate:
      return {first.is_null, 1 - first.integer, 0};
    case Function::is_null:
      return {false, first.is_null ? 1 : 0, 0};
    case Function::is_true:
      return {false, !first.is_null && first.integer != 0 ? 1 : 0, 0};
    case Function::select:
      return value(arguments[!first.is_null && first.integer != 0 ? 1 : 2]);
    case Function::compare:
      return compared(expression, first, value(arguments[1]));
    case Function::cast:
      return cast_cell(expression, first);
    default:
      return value_of_call(expression, first);
  }
}

/// Functions that are null where an argument is; all of them are computed, since one may fail.
Cell Interpreter::value_of_call(Expression const& expression, Cell const& first) const {
  std::vector<Cell> cells{first};
  for (std::size_t i = 1; i < expression.arguments.size(); ++i) cells.push_back(value(expression.arguments[i]));
  if (std::ranges::any_of(cells, &Cell::is_null)) return {true, 0, 0};
  if (expression.function == Function::concat) {
    auto joined = cells[0];
    for (std::size_t i = 1; i < cells.size(); ++i) joined.text += cells[i].text;
    return joined;
  }
  cells.resize(std::max<std::size_t>(cells.size(), 3));
  if (expression.function >= Function::extract) return time_value(expression, cells[0]);
  if (expression.function >= Function::like) return text_value(expression, cells[0], cells[1], cells[2]);
  if (is_decimal_type(expression.type)) return decimal_value(expression, cells[0], cells[1]);
  return computed(expression, cells[0], cells[1]);
}

Cell Interpreter::chosen(Expression const& expression) const {
  Cell best{true, 0, 0};
  for (auto const& argument : expression.arguments) {
    if (expression.function == Function::coalesce && !best.is_null) break;
    auto const cell = value(argument);
    auto const sign = cell.is_null || best.is_null ? 0 : order_of(argument.type, cell, argument.type, best);
    bool const is_better = expression.function == Function::least ? sign < 0 : sign > 0;
    if (!cell.is_null && (best.is_null || is_better)) best = cell;
  }
  return best;
}

Cell Interpreter::is_in(Expression const& expression) const {
  auto const& arguments = expression.arguments;
  auto cell = value(arguments[0]);
  if (cell.is_null) return cell;
  Cell result{false, 0, 0};
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    auto const other = value(arguments[i]);
    if (other.is_null)
      result.is_null = true;
    else if (order_of(arguments[0].type, cell, arguments[0].type, other) == 0)
      return {false, 1, 0};
  }
  return result;
}

}  // namespace garuda::expr
