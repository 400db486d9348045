#include "operators/query/query_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>
#include <variant>

#include "core/type_rows.hpp"
#include "expr/vector.hpp"
#include "keys/codes/key_types.hpp"

namespace garuda::query {
namespace {

using expr::Expression;
using expr::Function;

/// Most digits of a decimal that expressions compute with.
constexpr std::int32_t kMostDigits = 38;

TypeFamily family_of(DataType const& type) { return type_row(type.id).family; }
bool is_decimal(DataType const& type) { return family_of(type) == TypeFamily::decimal; }
bool is_constant(Expression const& value) { return value.form == Expression::Form::constant; }
bool is_null(Expression const& value) {
  return is_constant(value) && std::holds_alternative<std::monostate>(value.value);
}

DataType decimal(std::int32_t precision, std::int32_t scale) {
  return {.id = TypeId::decimal128, .precision = std::min(precision, kMostDigits), .scale = scale};
}

/// The type to which arguments of two types are widened; nullopt: there is none.
std::optional<DataType> widened(DataType const& a, DataType const& b) {
  if (a == b) return a;
  if (auto common = keys::common_type_of(std::array{a, b}); common && expr::kind_of(common->result))
    return std::move(common->result);
  // No type holds both exactly; SQL computes with floats.
  auto const is_number = [](DataType const& type) {
    auto const family = family_of(type);
    return family == TypeFamily::integer || family == TypeFamily::decimal || family == TypeFamily::floating;
  };
  bool const is_float = family_of(a) == TypeFamily::floating || family_of(b) == TypeFamily::floating;
  return is_float && is_number(a) && is_number(b) ? std::optional(DataType{TypeId::float64}) : std::nullopt;
}

/// A constant as one of another type, where that holds its value.
std::optional<Expression> constant_as(Expression const& value, DataType const& type) {
  if (!is_constant(value)) return std::nullopt;
  if (is_null(value)) return expr::constant(std::monostate{}, type).value();
  if (is_decimal(type) != is_decimal(value.type)) return std::nullopt;
  if (is_decimal(type) && type.scale != value.type.scale) return std::nullopt;
  if (auto const* const number = std::get_if<double>(&value.value); number != nullptr && type.id != TypeId::float64) {
    // 0.1 is none of the floats of 32 bits: beside a column of these it stays as it is.
    bool const is_held = static_cast<double>(static_cast<float>(*number)) == *number || std::isnan(*number);
    if (!is_held) return std::nullopt;
  }
  auto constant = expr::constant(value.value, type);
  return constant ? std::optional(*std::move(constant)) : std::nullopt;
}

/// Casts `value` unless it has the type.
Result<Expression> as(Expression value, DataType const& type) {
  if (value.type == type) return value;
  if (auto constant = constant_as(value, type)) return *std::move(constant);
  return expr::cast(std::move(value), type);
}

/// Gives the arguments from `first` on one type. Constants take the type of what they stand beside.
Result<void> widen(FunctionCall& call, std::size_t first = 0) {
  auto& values = call.arguments;
  std::optional<DataType> type;
  for (bool const of_constants : {false, true})
    for (auto i = first; i < values.size(); ++i) {
      if (is_constant(values[i]) != of_constants || is_null(values[i])) continue;
      if (of_constants && type && constant_as(values[i], *type)) continue;
      auto wider = type ? widened(*type, values[i].type) : values[i].type;
      if (!wider)
        return fail(ErrorCode::usage, fmt::format("'{}' does not take {} and {}", call.name, to_string(*type),
                                                  to_string(values[i].type)));
      type = std::move(wider);
    }
  if (!type && first < values.size()) {
    // All are nulls. One without a type of its own is written as a boolean.
    auto const typed = std::find_if(values.begin() + static_cast<std::ptrdiff_t>(first), values.end(),
                                    [](Expression const& value) { return value.type.id != TypeId::boolean; });
    type = typed == values.end() ? values[first].type : typed->type;
  }
  for (auto i = first; i < values.size(); ++i) {
    GARUDA_TRY_ASSIGN(values[i], as(std::move(values[i]), *type));
  }
  return {};
}

/// Gives values that are compared one type. Decimals are compared exactly whatever their scales: where no decimal holds
/// the values of all, they stay as they are.
Result<void> widen_compared(FunctionCall& call) {
  auto done = widen(call);
  bool const are_decimals =
      std::ranges::all_of(call.arguments, [](Expression const& value) { return is_decimal(value.type); });
  return done || !are_decimals ? std::move(done) : Result<void>();
}

/// The smallest decimal that holds the results of a function exactly; quotients have digits as DataFusion gives them.
DataType decimal_result(Function function, DataType const& a, DataType const& b) {
  auto const scale = std::max(a.scale, b.scale);
  auto const whole = [](DataType const& type) { return type.precision - type.scale; };
  switch (function) {
    case Function::multiply:
      return decimal(a.precision + b.precision + 1, a.scale + b.scale);
    case Function::divide: {
      auto const of_quotient = std::max(4, a.scale + b.precision + 1);
      return decimal(whole(a) + b.scale + of_quotient, std::min(of_quotient, kMostDigits));
    }
    case Function::remainder:
      return decimal(std::min(whole(a), whole(b)) + scale, scale);
    default:
      return decimal(std::max(whole(a), whole(b)) + scale + 1, scale);
  }
}

template <Function kFunction>
Result<Expression> arithmetic(FunctionCall call) {
  auto& a = call.arguments[0];
  auto& b = call.arguments[1];
  auto const is_exact = [](Expression const& value) {
    return is_decimal(value.type) || family_of(value.type) == TypeFamily::integer;
  };
  if ((is_decimal(a.type) || is_decimal(b.type)) && is_exact(a) && is_exact(b)) {
    for (auto* value : {&a, &b}) {
      if (is_decimal(value->type)) continue;
      GARUDA_TRY_ASSIGN(*value, expr::cast(std::move(*value), decimal(type_row(value->type.id).digits, 0)));
    }
    auto const result = call.type.value_or(decimal_result(kFunction, a.type, b.type));
    return expr::call(kFunction, std::move(call.arguments), call.on_failure, result);
  }
  GARUDA_TRY(widen(call));
  return expr::call(kFunction, std::move(call.arguments), call.on_failure);
}

/// A function that takes its arguments as they are.
template <Function kFunction>
Result<Expression> plain(FunctionCall call) {
  return expr::call(kFunction, std::move(call.arguments), call.on_failure, call.type);
}

/// A function of values of one type.
template <Function kFunction>
Result<Expression> of_one_type(FunctionCall call) {
  GARUDA_TRY(widen(call));
  return plain<kFunction>(std::move(call));
}

/// A chain of calls of a function of two booleans.
template <Function kFunction>
Result<Expression> booleans(FunctionCall call) {
  auto result = std::move(call.arguments.front());
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    std::vector<Expression> pair;
    pair.push_back(std::move(result));
    pair.push_back(std::move(call.arguments[i]));
    GARUDA_TRY_ASSIGN(result, expr::call(kFunction, std::move(pair)));
  }
  return result;
}

Result<Expression> negated(Result<Expression> value) {
  if (!value) return value;
  std::vector<Expression> arguments;
  arguments.push_back(*std::move(value));
  return expr::call(Function::negate, std::move(arguments));
}

Result<Expression> choice(FunctionCall call) {
  GARUDA_TRY(widen(call, 1));
  return plain<Function::select>(std::move(call));
}

/// A value, its least and its greatest one.
Result<Expression> between(FunctionCall call) {
  GARUDA_TRY(widen_compared(call));
  auto& arguments = call.arguments;
  FunctionCall both{"and", {}, {}, call.on_failure};
  GARUDA_TRY_ASSIGN(auto above, expr::compare(arguments[0], Comparator::greater_equal, std::move(arguments[1])));
  GARUDA_TRY_ASSIGN(auto below,
                    expr::compare(std::move(arguments[0]), Comparator::less_equal, std::move(arguments[2])));
  both.arguments.push_back(std::move(above));
  both.arguments.push_back(std::move(below));
  return booleans<Function::all>(std::move(both));
}

/// True where both values are null, or neither is and they are equal.
Result<Expression> not_distinct(FunctionCall call) {
  GARUDA_TRY(widen(call));
  FunctionCall either{"or", {}, {}, call.on_failure};
  FunctionCall both{"and", {}, {}, call.on_failure};
  for (auto const& value : call.arguments) {
    GARUDA_TRY_ASSIGN(auto is_null, expr::call(Function::is_null, {value}));
    both.arguments.push_back(std::move(is_null));
  }
  GARUDA_TRY_ASSIGN(auto equal,
                    expr::compare(std::move(call.arguments[0]), Comparator::equal, std::move(call.arguments[1])));
  GARUDA_TRY_ASSIGN(auto are_equal, expr::call(Function::is_true, {std::move(equal)}));
  GARUDA_TRY_ASSIGN(auto are_null, booleans<Function::all>(std::move(both)));
  either.arguments.push_back(std::move(are_equal));
  either.arguments.push_back(std::move(are_null));
  return booleans<Function::any>(std::move(either));
}

/// Digits to keep are an int64; without them none is kept.
Result<Expression> rounded(FunctionCall call) {
  if (call.arguments.size() == 1) {
    GARUDA_TRY_ASSIGN(auto none, expr::constant(std::int64_t{0}, DataType{TypeId::int64}));
    call.arguments.push_back(std::move(none));
  }
  GARUDA_TRY_ASSIGN(call.arguments[1], as(std::move(call.arguments[1]), DataType{TypeId::int64}));
  return plain<Function::round>(std::move(call));
}

/// Positions and lengths are int64.
Result<Expression> substring(FunctionCall call) {
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    GARUDA_TRY_ASSIGN(call.arguments[i], as(std::move(call.arguments[i]), DataType{TypeId::int64}));
  }
  return plain<Function::substring>(std::move(call));
}

/// The field that the first argument names.
Result<expr::TimeField> field_of(FunctionCall const& call) {
  auto const* const text = std::get_if<std::string>(&call.arguments.front().value);
  if (text == nullptr || !is_constant(call.arguments.front()))
    return fail(ErrorCode::usage, fmt::format("the field of '{}' is a constant", call.name));
  auto lower = *text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (auto const field = expr::parse_time_field(lower)) return *field;
  return fail(ErrorCode::usage, fmt::format("'{}' has no field of this name: {}", call.name, *text));
}

Result<Expression> extract(FunctionCall call) {
  GARUDA_TRY_ASSIGN(auto const field, field_of(call));
  return expr::extract(field, std::move(call.arguments[1]));
}

Result<Expression> truncate(FunctionCall call) {
  GARUDA_TRY_ASSIGN(auto const field, field_of(call));
  return expr::truncate(field, std::move(call.arguments[1]), call.on_failure);
}

/// How a function of a query is made of those that expressions have.
struct FunctionName {
  std::string_view name;
  std::size_t least;  ///< arguments
  std::size_t most;
  Result<Expression> (*make)(FunctionCall call);
};

constexpr std::size_t kAny = 1'000;

constexpr FunctionName kFunctions[] = {
    {"add", 2, 2, arithmetic<Function::add>},
    {"subtract", 2, 2, arithmetic<Function::subtract>},
    {"multiply", 2, 2, arithmetic<Function::multiply>},
    {"divide", 2, 2, arithmetic<Function::divide>},
    {"modulus", 2, 2, arithmetic<Function::remainder>},
    {"negate", 1, 1, plain<Function::opposite>},
    {"abs", 1, 1, plain<Function::absolute>},
    {"round", 1, 2, rounded},
    {"floor", 1, 1, plain<Function::floor>},
    {"ceil", 1, 1, plain<Function::ceil>},
    {"and", 1, kAny, booleans<Function::all>},
    {"or", 1, kAny, booleans<Function::any>},
    {"not", 1, 1, plain<Function::negate>},
    {"is_null", 1, 1, plain<Function::is_null>},
    {"is_not_null", 1, 1, [](FunctionCall call) { return negated(plain<Function::is_null>(std::move(call))); }},
    {"is_true", 1, 1, plain<Function::is_true>},
    {"is_not_distinct_from", 2, 2, not_distinct},
    {"if", 3, 3, choice},
    {"coalesce", 1, kAny, of_one_type<Function::coalesce>},
    {"least", 1, kAny, of_one_type<Function::least>},
    {"greatest", 1, kAny, of_one_type<Function::greatest>},
    {"in", 2, kAny, of_one_type<Function::in>},
    {"between", 3, 3, between},
    {"like", 2, 3, plain<Function::like>},
    {"starts_with", 2, 2, plain<Function::starts_with>},
    {"ends_with", 2, 2, plain<Function::ends_with>},
    {"contains", 2, 2, plain<Function::contains>},
    {"regexp_matches", 2, 2, plain<Function::regexp_matches>},
    {"regexp_replace", 3, 3, plain<Function::regexp_replace>},
    {"regexp_replace_all", 3, 3, plain<Function::regexp_replace_all>},
    {"substring", 2, 3, substring},
    {"char_length", 1, 1, plain<Function::length>},
    {"octet_length", 1, 1, plain<Function::octet_length>},
    {"upper", 1, 1, plain<Function::upper>},
    {"lower", 1, 1, plain<Function::lower>},
    {"trim", 1, 2, plain<Function::trim>},
    {"ltrim", 1, 2, plain<Function::trim_left>},
    {"rtrim", 1, 2, plain<Function::trim_right>},
    {"concat", 1, kAny, of_one_type<Function::concat>},
    {"extract", 2, 2, extract},
    {"date_trunc", 2, 2, truncate},
    {"add_interval", 4, 4, plain<Function::add_interval>},
};

struct ComparisonName {
  std::string_view name;
  Comparator comparator;
};

constexpr ComparisonName kComparisons[] = {
    {"equal", Comparator::equal},    {"not_equal", Comparator::not_equal}, {"lt", Comparator::less},
    {"lte", Comparator::less_equal}, {"gt", Comparator::greater},          {"gte", Comparator::greater_equal},
};

Result<void> check_arguments(FunctionCall const& call, std::size_t least, std::size_t most) {
  auto const given = call.arguments.size();
  if (given >= least && given <= most) return {};
  return fail(ErrorCode::usage, fmt::format("'{}' does not take so many arguments: {}", call.name, given));
}

}  // namespace

std::optional<Comparator> comparator_of(std::string_view function) {
  auto const* const found = std::ranges::find(kComparisons, function, &ComparisonName::name);
  return found == std::end(kComparisons) ? std::nullopt : std::optional(found->comparator);
}

std::string_view function_of(Comparator comparator) {
  return std::ranges::find(kComparisons, comparator, &ComparisonName::comparator)->name;
}

Result<Expression> bind_function(FunctionCall call) {
  if (auto const comparator = comparator_of(call.name)) {
    GARUDA_TRY(check_arguments(call, 2, 2));
    GARUDA_TRY(widen_compared(call));
    return expr::compare(std::move(call.arguments[0]), *comparator, std::move(call.arguments[1]));
  }
  auto const* const function = std::ranges::find(kFunctions, call.name, &FunctionName::name);
  if (function == std::end(kFunctions))
    return fail(ErrorCode::usage, fmt::format("there is no function of this name: {}", call.name));
  GARUDA_TRY(check_arguments(call, function->least, function->most));
  return function->make(std::move(call));
}

}  // namespace garuda::query
