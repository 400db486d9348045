// Aggregates as they are typed, `FN[:COLUMN[:PARAMETER]][=NAME]`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "core/escaped_text.hpp"
#include "operators/resolve/aggregates.hpp"

namespace garuda {
namespace {

using resolve::Parameter;
using F = AggregateFunction;

struct FunctionRow {
  AggregateFunction function;
  std::string_view name;
  Parameter parameter = Parameter::none;
};

/// Names of functions, in the order of AggregateFunction.
constexpr std::array kFunctions{FunctionRow{F::count, "count"},
                                FunctionRow{F::sum, "sum"},
                                FunctionRow{F::min, "min"},
                                FunctionRow{F::max, "max"},
                                FunctionRow{F::mean, "mean"},
                                FunctionRow{F::var, "var"},
                                FunctionRow{F::var_pop, "var_pop"},
                                FunctionRow{F::std_dev, "std"},
                                FunctionRow{F::std_dev_pop, "std_pop"},
                                FunctionRow{F::covar, "covar", Parameter::column},
                                FunctionRow{F::covar_pop, "covar_pop", Parameter::column},
                                FunctionRow{F::corr, "corr", Parameter::column},
                                FunctionRow{F::count_distinct, "count_distinct"},
                                FunctionRow{F::first, "first"},
                                FunctionRow{F::last, "last"},
                                FunctionRow{F::any, "any"},
                                FunctionRow{F::bool_and, "bool_and"},
                                FunctionRow{F::bool_or, "bool_or"},
                                FunctionRow{F::arg_min, "arg_min", Parameter::column},
                                FunctionRow{F::arg_max, "arg_max", Parameter::column},
                                FunctionRow{F::median, "median"},
                                FunctionRow{F::quantile, "quantile", Parameter::share},
                                FunctionRow{F::min_n, "min_n", Parameter::number},
                                FunctionRow{F::max_n, "max_n", Parameter::number},
                                FunctionRow{F::product, "product"}};
static_assert(std::ranges::all_of(kFunctions, [](FunctionRow const& row) {
  return &row == &kFunctions[static_cast<std::size_t>(row.function)];
}));

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<std::string> parse_column(std::string_view text, std::string_view whole) {
  if (text.empty()) return fail(ErrorCode::usage, fmt::format("aggregate has an empty column: {}", whole));
  return unescape(text);
}

std::string_view form_of(Parameter parameter) noexcept {
  switch (parameter) {
    case Parameter::column:
      return "two columns, as in x:y";
    case Parameter::share:
      return "a column and a number within [0, 1], as in x:0.9";
    case Parameter::number:
      return "a column and how many values, 1 to 2147483647, as in x:3";
    case Parameter::none:
      break;
  }
  return "a column";
}

/// The failure of an aggregate that has not what its function takes.
tl::unexpected<Error> wants(Parameter parameter, std::string_view function, std::string_view given) {
  return fail(ErrorCode::usage, fmt::format("{} wants {}: {}", function, form_of(parameter), given));
}

/// `text`: what follows the function's colon.
Result<void> parse_parts(FunctionRow const& row, std::string_view text, std::string_view whole, Aggregate& aggregate) {
  if (row.parameter == Parameter::none) {
    GARUDA_TRY_ASSIGN(aggregate.column, parse_column(text, whole));
    return {};
  }
  auto const colon = find_unescaped(text, ':');
  if (colon == std::string_view::npos) return wants(row.parameter, row.name, whole);
  auto const parameter = text.substr(colon + 1);
  GARUDA_TRY_ASSIGN(aggregate.column, parse_column(text.substr(0, colon), whole));
  if (row.parameter == Parameter::column) {
    GARUDA_TRY_ASSIGN(aggregate.second, parse_column(parameter, whole));
    return {};
  }
  bool const is_number = row.parameter == Parameter::share ? parse_number(parameter, aggregate.quantile)
                                                           : parse_number(parameter, aggregate.most);
  if (is_number) return resolve::check_parameter(aggregate);
  return wants(row.parameter, row.name, whole);
}

Result<Aggregate> parse_aggregate(std::string_view text) {
  Aggregate aggregate;
  auto const equals = find_unescaped(text, '=');
  if (equals != std::string_view::npos) {
    GARUDA_TRY_ASSIGN(aggregate.name, unescape(text.substr(equals + 1)));
    if (aggregate.name->empty()) return fail(ErrorCode::usage, fmt::format("aggregate has an empty name: {}", text));
  }
  auto const call = text.substr(0, equals);
  auto const colon = call.find(':');
  auto const function = call.substr(0, colon);
  auto const* const row = std::ranges::find(kFunctions, function, &FunctionRow::name);
  if (row == kFunctions.end())
    return fail(ErrorCode::usage,
                fmt::format("aggregate must be one of {}: '{}'",
                            fmt::join(kFunctions | std::views::transform(&FunctionRow::name), ", "), function));
  aggregate.function = row->function;
  if (colon != std::string_view::npos) GARUDA_TRY(parse_parts(*row, call.substr(colon + 1), text, aggregate));
  return aggregate;
}

}  // namespace

std::string_view to_string(AggregateFunction function) noexcept {
  return kFunctions[static_cast<std::size_t>(function)].name;
}

Result<std::vector<Aggregate>> parse_aggregates(std::string_view text) {
  std::vector<Aggregate> aggregates;
  if (text.empty()) return aggregates;
  for (auto const part : split_unescaped(text, ',')) {
    GARUDA_TRY_ASSIGN(auto aggregate, parse_aggregate(part));
    aggregates.push_back(std::move(aggregate));
  }
  return aggregates;
}

namespace resolve {

Parameter parameter_of(AggregateFunction function) noexcept {
  return kFunctions[static_cast<std::size_t>(function)].parameter;
}

Result<void> check_parameter(Aggregate const& aggregate) {
  constexpr std::uint64_t kMostElements = 0x7FFF'FFFF;
  auto const parameter = parameter_of(aggregate.function);
  bool const is_right = parameter == Parameter::share ? aggregate.quantile >= 0 && aggregate.quantile <= 1
                        : parameter == Parameter::number
                            ? aggregate.most >= 1 && aggregate.most <= kMostElements
                            : aggregate.second.has_value() == (parameter == Parameter::column);
  if (is_right) return {};
  return wants(parameter, to_string(aggregate.function), default_name(aggregate));
}

std::string default_name(Aggregate const& aggregate) {
  auto name = std::string(to_string(aggregate.function));
  if (aggregate.column) name += fmt::format("_{}", *aggregate.column);
  if (aggregate.second) name += fmt::format("_{}", *aggregate.second);
  auto const parameter = parameter_of(aggregate.function);
  if (parameter == Parameter::share) name += fmt::format("_{}", aggregate.quantile);
  if (parameter == Parameter::number) name += fmt::format("_{}", aggregate.most);
  return name;
}

}  // namespace resolve
}  // namespace garuda
