#include "operators/substrait/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "operators/substrait/read_type.hpp"

namespace garuda::substrait {
namespace {

using Made = Result<ScalarExpression>;

bool is_null(ScalarExpression const& value) {
  return value.form == ScalarExpression::Form::literal && std::holds_alternative<std::monostate>(value.literal.value);
}

std::vector<ScalarExpression> values_of(ScalarCall& scalar) {
  std::vector<ScalarExpression> values;
  for (auto& argument : scalar.arguments) values.push_back(std::move(argument.value));
  return values;
}

Made refused(ScalarCall const& scalar, std::string_view why) {
  return fail(ErrorCode::usage, fmt::format("function '{}' of the plan {}", scalar.name, why));
}

Made negated(Made value) {
  if (!value) return value;
  return call("not", {*std::move(value)});
}

/// A date or timestamp and an interval, which is subtracted where `sign` is -1.
Made shifted(ScalarCall scalar, std::int64_t sign) {
  auto& arguments = scalar.arguments;
  if (sign > 0 && arguments[0].interval && !arguments[1].interval) std::swap(arguments[0], arguments[1]);
  if (arguments[0].interval) return refused(scalar, "computes with two intervals, which queries do not");
  auto const by = *arguments[1].interval;
  return call("add_interval", {std::move(arguments[0].value), literal(sign * by.months), literal(sign * by.days),
                               literal(sign * by.microseconds)});
}

/// Arithmetic of decimals has the type that the plan gives it.
Made arithmetic(ScalarCall scalar, std::string function) {
  if (scalar.arguments.size() != 2) return refused(scalar, "does not have two arguments");
  if (scalar.arguments[0].interval || scalar.arguments[1].interval) {
    if (function != "add" && function != "subtract") return refused(scalar, "does not take intervals here");
    return shifted(std::move(scalar), function == "add" ? 1 : -1);
  }
  auto result = call(std::move(function), values_of(scalar));
  if (scalar.output && is_decimal(*scalar.output)) result.type = std::move(scalar.output);
  return result;
}

/// Without an escape character a backslash is one, as DataFusion has it.
Made like(ScalarCall scalar) {
  auto values = values_of(scalar);
  if (values.size() < 2 || values.size() > 3) return refused(scalar, "does not have a text and a pattern");
  if (values.size() == 3 && is_null(values[2])) values.pop_back();
  if (values.size() == 2) values.push_back(literal(std::string("\\")));
  return call("like", std::move(values));
}

Made null_if(ScalarCall scalar) {
  auto values = values_of(scalar);
  auto first = values[0];
  return call("if", {call("equal", std::move(values)), null_value(), std::move(first)});
}

/// The word or constant text of the first argument, in lower case, as the field that queries call so.
Result<std::string> field_of(ScalarCall const& scalar) {
  auto const& first = scalar.arguments.front();
  auto const* const text = std::get_if<std::string>(&first.value.literal.value);
  if (!first.word && text == nullptr)
    return fail(ErrorCode::usage, fmt::format("the field of function '{}' of the plan is no constant", scalar.name));
  auto name = first.word ? *first.word : *text;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"doy", "day_of_year"}, {"dow", "day_of_week"}, {"isodow", "iso_day_of_week"}, {"isoyear", "iso_year"}};
  for (auto const& [theirs, ours] : kNames)
    if (name == theirs) return std::string(ours);
  return name;
}

Made extract(ScalarCall scalar) {
  if (scalar.arguments.size() != 2) return refused(scalar, "does not have a field and a time");
  GARUDA_TRY_ASSIGN(auto field, field_of(scalar));
  auto part = call("extract", {literal(std::move(field)), std::move(scalar.arguments[1].value)});
  if (!scalar.output) return part;
  return cast(std::move(part), *std::move(scalar.output));
}

Made truncate(ScalarCall scalar) {
  if (scalar.arguments.size() != 2) return refused(scalar, "does not have a unit and a time");
  GARUDA_TRY_ASSIGN(auto field, field_of(scalar));
  return call("date_trunc", {literal(std::move(field)), std::move(scalar.arguments[1].value)});
}

/// DataFusion leaves nulls out of what it puts together, where the plan wants nothing else.
Made concat(ScalarCall scalar) {
  if (value_of(scalar.options, "null_handling") == "ACCEPT_NULLS") return call("concat", values_of(scalar));
  std::vector<ScalarExpression> texts;
  for (auto& value : values_of(scalar)) texts.push_back(call("coalesce", {std::move(value), literal(std::string())}));
  return call("concat", std::move(texts));
}

/// A negative length would count from the end, which queries do not.
Made first_characters(ScalarCall scalar) {
  auto values = values_of(scalar);
  auto const* const length = std::get_if<std::int64_t>(&values[1].literal.value);
  if (length == nullptr || *length < 0) return refused(scalar, "takes a constant length that is not negative");
  return call("substring", {std::move(values[0]), literal(std::int64_t{1}), std::move(values[1])});
}

/// A whole constant exponent makes a product; by it a power has the same bits everywhere.
Made power(ScalarCall scalar) {
  constexpr std::int64_t kMost = 8;
  auto values = values_of(scalar);
  auto const* const whole = std::get_if<std::int64_t>(&values[1].literal.value);
  auto const* const real = std::get_if<double>(&values[1].literal.value);
  auto const exponent = whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : 0.0;
  if (exponent < 1 || exponent > kMost || exponent != std::floor(exponent))
    return refused(scalar, fmt::format("takes a constant whole exponent from 1 to {}", kMost));
  auto base = scalar.output ? cast(std::move(values[0]), *std::move(scalar.output)) : std::move(values[0]);
  auto product = base;
  for (auto i = 1; i < static_cast<int>(exponent); ++i) product = call("multiply", {std::move(product), base});
  return product;
}

Made regexp_replace(ScalarCall scalar) {
  auto values = values_of(scalar);
  auto name = std::string("regexp_replace");
  if (values.size() == 4) {
    auto const* const flags = std::get_if<std::string>(&values[3].literal.value);
    if (flags == nullptr || *flags != "g") return refused(scalar, "takes no other flag than 'g'");
    name = "regexp_replace_all";
    values.pop_back();
  }
  return call(std::move(name), std::move(values));
}

/// A function of the plan, and how many arguments it takes at least.
struct FunctionRow {
  std::string_view name;
  std::size_t least;
  Made (*make)(ScalarCall scalar);
};

constexpr FunctionRow kFunctions[] = {
    {"add", 2, [](ScalarCall scalar) { return arithmetic(std::move(scalar), "add"); }},
    {"subtract", 2, [](ScalarCall scalar) { return arithmetic(std::move(scalar), "subtract"); }},
    {"multiply", 2, [](ScalarCall scalar) { return arithmetic(std::move(scalar), "multiply"); }},
    {"divide", 2, [](ScalarCall scalar) { return arithmetic(std::move(scalar), "divide"); }},
    {"modulus", 2, [](ScalarCall scalar) { return arithmetic(std::move(scalar), "modulus"); }},
    {"like", 2, like},
    {"nullif", 2, null_if},
    {"extract", 2, extract},
    {"date_part", 2, extract},
    {"date_trunc", 2, truncate},
    {"concat", 1, concat},
    {"left", 2, first_characters},
    {"regexp_replace", 3, regexp_replace},
    {"power", 2, power},
    {"pow", 2, power},
    {"regex_not_match", 2, [](ScalarCall scalar) { return negated(call("regexp_matches", values_of(scalar))); }},
    {"is_distinct_from", 2, [](ScalarCall scalar) { return negated(call("is_not_distinct_from", values_of(scalar))); }},
    {"is_not_true", 1, [](ScalarCall scalar) { return negated(call("is_true", values_of(scalar))); }},
    {"is_false", 1, [](ScalarCall scalar) -> Made { return call("is_true", {call("not", values_of(scalar))}); }},
    {"is_not_false", 1, [](ScalarCall scalar) { return negated(call("is_true", {call("not", values_of(scalar))})); }},
};

/// Functions of the plan that queries have as they are, by both names.
constexpr std::pair<std::string_view, std::string_view> kSameFunctions[] = {
    {"equal", "equal"},
    {"not_equal", "not_equal"},
    {"lt", "lt"},
    {"lte", "lte"},
    {"gt", "gt"},
    {"gte", "gte"},
    {"between", "between"},
    {"and", "and"},
    {"or", "or"},
    {"not", "not"},
    {"is_not_distinct_from", "is_not_distinct_from"},
    {"is_null", "is_null"},
    {"is_not_null", "is_not_null"},
    {"is_true", "is_true"},
    {"is_unknown", "is_null"},
    {"is_not_unknown", "is_not_null"},
    {"coalesce", "coalesce"},
    {"least", "least"},
    {"greatest", "greatest"},
    {"negate", "negate"},
    {"abs", "abs"},
    {"round", "round"},
    {"floor", "floor"},
    {"ceil", "ceil"},
    {"starts_with", "starts_with"},
    {"ends_with", "ends_with"},
    {"contains", "contains"},
    {"regex_match", "regexp_matches"},
    {"regexp_like", "regexp_matches"},
    {"substring", "substring"},
    {"substr", "substring"},
    {"char_length", "char_length"},
    {"character_length", "char_length"},
    {"octet_length", "octet_length"},
    {"upper", "upper"},
    {"lower", "lower"},
    {"trim", "trim"},
    {"btrim", "trim"},
    {"ltrim", "ltrim"},
    {"rtrim", "rtrim"},
    {"str_concat", "concat"},
};

/// Functions whose result the plan gives another integer type than queries do.
bool is_length(std::string_view function) { return function == "char_length" || function == "octet_length"; }

}  // namespace

ScalarExpression null_value() { return literal(Literal{{TypeId::boolean}, {}}); }

Made make_call(ScalarCall scalar) {
  auto const* const row = std::ranges::find(kFunctions, scalar.name, &FunctionRow::name);
  if (row != std::end(kFunctions)) {
    if (scalar.arguments.size() < row->least) return refused(scalar, "has too few arguments");
    return row->make(std::move(scalar));
  }
  auto const* const same = std::ranges::find(kSameFunctions, scalar.name, [](auto const& pair) { return pair.first; });
  if (same == std::end(kSameFunctions)) return refused(scalar, "is none that queries have");
  for (auto const& argument : scalar.arguments)
    if (argument.interval || argument.word) return refused(scalar, "takes neither intervals nor words");
  auto result = call(std::string(same->second), values_of(scalar));
  if (is_length(same->second) && scalar.output) return cast(std::move(result), *std::move(scalar.output));
  return result;
}

}  // namespace garuda::substrait
