#include "tests/query/reference_expression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/type_rows.hpp"
#include "tests/reference/column_reader.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/unwrap.hpp"

namespace garuda::reference {
namespace {

using expr::Expression;
using expr::Function;
using testing::value_of;
using Arguments = std::vector<Expression>;

bool is_integer_type(DataType const& type) { return type_row(type.id).family == TypeFamily::integer; }
bool is_decimal_family(DataType const& type) { return type_row(type.id).family == TypeFamily::decimal; }
bool is_float_family(DataType const& type) { return type_row(type.id).family == TypeFamily::floating; }
std::int32_t bits_of(DataType const& type) { return 8 * type_row(type.id).width; }
bool is_signed_type(DataType const& type) { return type_row(type.id).is_signed; }
bool is_literal(Expression const& value) { return value.form == Expression::Form::constant; }
bool is_null_literal(Expression const& value) {
  return is_literal(value) && std::holds_alternative<std::monostate>(value.value);
}

DataType decimal_type(std::int32_t precision, std::int32_t scale) {
  return typed(TypeId::decimal128, std::min(precision, 38), scale);
}

/// Decimal digits that a number has before its point.
std::int32_t whole_digits(DataType const& type) {
  if (is_decimal_family(type)) return type.precision - type.scale;
  static std::map<std::int32_t, std::int32_t> const digits{{8, 3}, {16, 5}, {32, 10}, {64, 19}};
  return type.id == TypeId::uint64 ? 20 : digits.at(bits_of(type));
}

DataType wider_integer(DataType const& a, DataType const& b) {
  if (is_signed_type(a) == is_signed_type(b)) return bits_of(a) >= bits_of(b) ? a : b;
  auto const& with_sign = is_signed_type(a) ? a : b;
  auto const& without = is_signed_type(a) ? b : a;
  if (bits_of(with_sign) > bits_of(without)) return with_sign;
  for (auto const id : {TypeId::int16, TypeId::int32, TypeId::int64})
    if (bits_of({id}) > bits_of(without)) return {id};
  throw std::runtime_error("no integer holds both");
}

DataType wider_float(DataType const& a, DataType const& b) {
  if (is_float_family(a) && is_float_family(b)) return bits_of(a) >= bits_of(b) ? a : b;
  auto const& number = is_float_family(a) ? a : b;
  auto const& other = is_float_family(a) ? b : a;
  bool const is_small = is_integer_type(other) && bits_of(other) <= 16;
  return is_small && number.id == TypeId::float32 ? DataType{TypeId::float32} : DataType{TypeId::float64};
}

Expression as_type(Expression value, DataType const& type) {
  if (value.type == type) return value;
  if (is_null_literal(value)) return value_of(expr::constant({}, type));
  return value_of(expr::cast(std::move(value), type));
}

/// Whether a constant is one of the type as well as of its own.
bool can_be(Expression const& literal, DataType const& type) {
  bool const is_alike = is_decimal_family(type) == is_decimal_family(literal.type) && type.scale == literal.type.scale;
  auto const* const number = std::get_if<double>(&literal.value);
  bool const is_rounded = number != nullptr && type.id != TypeId::float64 && !std::isnan(*number) &&
                          static_cast<double>(static_cast<float>(*number)) != *number;
  return is_alike && !is_rounded && expr::constant(literal.value, type).has_value();
}

/// The type that arguments are widened to: columns and calls say it, and constants that are none of its values.
DataType type_of_all(Arguments const& arguments, std::size_t first) {
  std::optional<DataType> type;
  for (auto i = first; i < arguments.size(); ++i)
    if (!is_literal(arguments[i])) type = type ? wider_type(*type, arguments[i].type) : arguments[i].type;
  for (auto i = first; i < arguments.size(); ++i) {
    auto const& value = arguments[i];
    if (!is_literal(value) || is_null_literal(value) || (type && can_be(value, *type))) continue;
    type = type ? wider_type(*type, value.type) : value.type;
  }
  return type ? *type : arguments[first].type;
}

Arguments widened(Arguments arguments, std::size_t first = 0) {
  auto const type = type_of_all(arguments, first);
  for (auto i = first; i < arguments.size(); ++i) {
    bool const is_constant = is_literal(arguments[i]) && can_be(arguments[i], type);
    arguments[i] = is_constant ? value_of(expr::constant(arguments[i].value, type)) : as_type(arguments[i], type);
  }
  return arguments;
}

DataType decimal_result(Function function, DataType const& a, DataType const& b) {
  auto const scale = std::max(a.scale, b.scale);
  if (function == Function::multiply) return decimal_type(a.precision + b.precision + 1, a.scale + b.scale);
  if (function == Function::remainder) return decimal_type(std::min(whole_digits(a), whole_digits(b)) + scale, scale);
  if (function == Function::divide) {
    auto const behind = std::max(4, a.scale + b.precision + 1);
    return decimal_type(whole_digits(a) + b.scale + behind, std::min(behind, 38));
  }
  return decimal_type(std::max(whole_digits(a), whole_digits(b)) + scale + 1, scale);
}

Expression arithmetic(Function function, Arguments arguments, ScalarExpression const& written,
                      expr::OnFailure failure) {
  auto const is_exact = [](Expression const& value) {
    return is_decimal_family(value.type) || is_integer_type(value.type);
  };
  bool const has_decimal = std::ranges::any_of(arguments, is_decimal_family, &Expression::type);
  if (has_decimal && std::ranges::all_of(arguments, is_exact)) {
    for (auto& value : arguments)
      if (!is_decimal_family(value.type)) value = as_type(value, decimal_type(whole_digits(value.type), 0));
    auto const type = written.type.value_or(decimal_result(function, arguments[0].type, arguments[1].type));
    return value_of(expr::call(function, std::move(arguments), failure, type));
  }
  return value_of(expr::call(function, widened(std::move(arguments)), failure));
}

Expression two_of(Function function, Expression a, Expression b) {
  return value_of(expr::call(function, {std::move(a), std::move(b)}));
}

Expression chain_of(Function function, Arguments const& arguments) {
  auto whole = arguments.front();
  for (std::size_t i = 1; i < arguments.size(); ++i) whole = two_of(function, whole, arguments[i]);
  return whole;
}

Expression inverse(Expression value) { return value_of(expr::call(Function::negate, {std::move(value)})); }
Expression null_test(Expression value) { return value_of(expr::call(Function::is_null, {std::move(value)})); }

expr::TimeField field_named(Expression const& value) {
  auto const field = expr::parse_time_field(std::get<std::string>(value.value));
  if (!field) throw std::runtime_error("no field of this name");
  return *field;
}

std::map<std::string, Comparator> const kComparators{{"equal", Comparator::equal}, {"not_equal", Comparator::not_equal},
                                                     {"lt", Comparator::less},     {"lte", Comparator::less_equal},
                                                     {"gt", Comparator::greater},  {"gte", Comparator::greater_equal}};
std::map<std::string, Function> const kArithmetic{{"add", Function::add},
                                                  {"subtract", Function::subtract},
                                                  {"multiply", Function::multiply},
                                                  {"divide", Function::divide},
                                                  {"modulus", Function::remainder}};
std::map<std::string, Function> const kOfOneType{{"coalesce", Function::coalesce},
                                                 {"least", Function::least},
                                                 {"greatest", Function::greatest},
                                                 {"in", Function::in},
                                                 {"concat", Function::concat}};
std::map<std::string, Function> const kPlain{
    {"negate", Function::opposite},     {"abs", Function::absolute},
    {"round", Function::round},         {"floor", Function::floor},
    {"ceil", Function::ceil},           {"not", Function::negate},
    {"is_null", Function::is_null},     {"is_true", Function::is_true},
    {"like", Function::like},           {"starts_with", Function::starts_with},
    {"ends_with", Function::ends_with}, {"contains", Function::contains},
    {"char_length", Function::length},  {"octet_length", Function::octet_length},
    {"upper", Function::upper},         {"lower", Function::lower},
    {"trim", Function::trim},           {"ltrim", Function::trim_left},
    {"rtrim", Function::trim_right},    {"add_interval", Function::add_interval}};

Expression typed_call(ScalarExpression const& written, Arguments arguments) {
  auto const& name = written.name;
  auto const failure = written.null_on_failure ? expr::OnFailure::null : expr::OnFailure::error;
  if (auto const found = kComparators.find(name); found != kComparators.end()) {
    auto both = widened(std::move(arguments));
    return value_of(expr::compare(both.at(0), found->second, both.at(1)));
  }
  if (auto const found = kArithmetic.find(name); found != kArithmetic.end())
    return arithmetic(found->second, std::move(arguments), written, failure);
  if (auto const found = kOfOneType.find(name); found != kOfOneType.end())
    return value_of(expr::call(found->second, widened(std::move(arguments)), failure));
  if (auto const found = kPlain.find(name); found != kPlain.end())
    return value_of(expr::call(found->second, std::move(arguments), failure, written.type));
  if (name == "and" || name == "or") return chain_of(name == "and" ? Function::all : Function::any, arguments);
  if (name == "is_not_null") return inverse(null_test(arguments.at(0)));
  if (name == "if") return value_of(expr::call(Function::select, widened(std::move(arguments), 1), failure));
  if (name == "extract") return value_of(expr::extract(field_named(arguments.at(0)), arguments.at(1)));
  if (name == "date_trunc") return value_of(expr::truncate(field_named(arguments.at(0)), arguments.at(1), failure));
  if (name == "between") {
    auto const all = widened(std::move(arguments));
    return two_of(Function::all, value_of(expr::compare(all.at(0), Comparator::greater_equal, all.at(1))),
                  value_of(expr::compare(all.at(0), Comparator::less_equal, all.at(2))));
  }
  if (name == "is_not_distinct_from") {
    auto const both = widened(std::move(arguments));
    auto const are_null = two_of(Function::all, null_test(both.at(0)), null_test(both.at(1)));
    auto const are_equal = value_of(expr::compare(both.at(0), Comparator::equal, both.at(1)));
    return two_of(Function::any, value_of(expr::call(Function::is_true, {are_equal})), are_null);
  }
  if (name == "substring") {
    for (std::size_t i = 1; i < arguments.size(); ++i) arguments[i] = as_type(arguments[i], {TypeId::int64});
    return value_of(expr::call(Function::substring, std::move(arguments), failure));
  }
  throw std::runtime_error("the reference has no function of this name: " + name);
}

Expression typed_literal(Literal const& literal) {
  return std::visit(
      [&]<class Value>(Value const& value) {
        if constexpr (std::is_same_v<Value, std::array<std::uint64_t, 2>>)
          return value_of(expr::constant(static_cast<Int128>(UInt128{value[1]} << 64 | value[0]), literal.type));
        else
          return value_of(expr::constant(expr::Scalar(value), literal.type));
      },
      literal.value);
}

}  // namespace

DataType plain_type(DataType const& type) {
  if (type.id == TypeId::dictionary) return plain_type(*type.value);
  return is_text(type.id) ? DataType{TypeId::utf8} : type;
}

DataType wider_type(DataType const& a, DataType const& b) {
  if (a == b) return a;
  if (is_integer_type(a) && is_integer_type(b)) return wider_integer(a, b);
  auto const is_number = [](DataType const& type) {
    return is_integer_type(type) || is_decimal_family(type) || is_float_family(type);
  };
  if (!is_number(a) || !is_number(b)) throw std::runtime_error("no type holds both");
  if (is_float_family(a) || is_float_family(b)) return wider_float(a, b);
  auto const scale = std::max(a.scale, b.scale);
  auto const precision = std::max(whole_digits(a), whole_digits(b)) + scale;
  if (precision > 38) throw std::runtime_error("no decimal holds both");
  return decimal_type(precision, scale);
}

expr::Expression typed_expression(ScalarExpression const& written, Schema const& input) {
  using Form = ScalarExpression::Form;
  if (written.form == Form::literal) return typed_literal(written.literal);
  if (written.form == Form::column || written.form == Form::position) {
    auto const place = written.form == Form::column ? column_named(input, written.name) : written.position;
    return expr::column(place, input.at(place).type, input.at(place).name);
  }
  Arguments arguments;
  for (auto const& argument : written.arguments) arguments.push_back(typed_expression(argument, input));
  if (written.form == Form::call) return typed_call(written, std::move(arguments));
  return value_of(expr::cast(std::move(arguments.at(0)), plain_type(*written.type),
                             written.null_on_failure ? expr::OnFailure::null : expr::OnFailure::error));
}

}  // namespace garuda::reference
