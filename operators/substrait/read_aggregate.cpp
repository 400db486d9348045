// Group-bys of Substrait.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "operators/query/bind.hpp"
#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/options.hpp"
#include "operators/substrait/read_expression.hpp"
#include "operators/substrait/read_type.hpp"
#include "operators/substrait/relation.hpp"

namespace garuda::substrait {
namespace {

struct AggregateRow {
  std::string_view name;
  AggregateFunction function;
  std::size_t arguments;
};

constexpr AggregateRow kAggregates[] = {
    {"sum", AggregateFunction::sum, 1},
    {"avg", AggregateFunction::mean, 1},
    {"min", AggregateFunction::min, 1},
    {"max", AggregateFunction::max, 1},
    {"count", AggregateFunction::count, 1},
    {"stddev", AggregateFunction::std_dev, 1},
    {"stddev_samp", AggregateFunction::std_dev, 1},
    {"stddev_pop", AggregateFunction::std_dev_pop, 1},
    {"std_dev", AggregateFunction::std_dev, 1},
    {"variance", AggregateFunction::var, 1},
    {"var", AggregateFunction::var, 1},
    {"var_samp", AggregateFunction::var, 1},
    {"var_pop", AggregateFunction::var_pop, 1},
    {"covar_samp", AggregateFunction::covar, 2},
    {"covar_pop", AggregateFunction::covar_pop, 2},
    {"corr", AggregateFunction::corr, 2},
    {"median", AggregateFunction::median, 1},
    {"bool_and", AggregateFunction::bool_and, 1},
    {"bool_or", AggregateFunction::bool_or, 1},
    {"any_value", AggregateFunction::any, 1},
};

/// An aggregate of the plan: its call, and the type of its argument once that is known.
struct Measure {
  AggregateCall call;
  DataType type;
};

/// Checks what a function of the plan says besides its name, and whether its values count once.
Result<bool> read_distinct(Message const& function, std::string const& name) {
  GARUDA_TRY_ASSIGN(auto const phase, function.integer(AggregateFunctionField::phase));
  if (phase != static_cast<std::uint64_t>(Phase::unspecified) &&
      phase != static_cast<std::uint64_t>(Phase::initial_to_result))
    return fail(ErrorCode::usage, fmt::format("aggregate '{}' of the plan is a part of one: phase {}", name, phase));
  if (function.has(AggregateFunctionField::sorts))
    return fail(ErrorCode::usage, fmt::format("queries do not sort the values of an aggregate: {}", name));
  GARUDA_TRY_ASSIGN(auto const invocation, function.integer(AggregateFunctionField::invocation));
  return invocation == static_cast<std::uint64_t>(Invocation::distinct);
}

bool is_constant_value(ScalarExpression const& value) {
  return value.form == ScalarExpression::Form::literal && !std::holds_alternative<std::monostate>(value.literal.value);
}

/// The function over a whole population in place of one over a sample, where a plan wants its distribution.
Result<AggregateFunction> of_distribution(AggregateFunction function, std::string_view name,
                                          std::string_view distribution) {
  bool const has_one = name == "std_dev" || name == "variance";
  if (distribution.empty() || (has_one && distribution == "SAMPLE")) return function;
  if (has_one && distribution == "POPULATION")
    return function == AggregateFunction::std_dev ? AggregateFunction::std_dev_pop : AggregateFunction::var_pop;
  return fail(ErrorCode::usage,
              fmt::format("aggregate '{}' of the plan does not take this word: {}", name, distribution));
}

Result<AggregateCall> read_call(Message const& measure, ExpressionReader& reader, PlanContext const& context) {
  GARUDA_TRY_ASSIGN(auto const function, measure.message(MeasureField::measure));
  GARUDA_TRY_ASSIGN(auto const anchor, function.integer(AggregateFunctionField::function_reference));
  GARUDA_TRY_ASSIGN(auto const name, function_name(context, anchor));
  auto const* const row = std::ranges::find(kAggregates, name, &AggregateRow::name);
  if (row == std::end(kAggregates))
    return fail(ErrorCode::usage, fmt::format("aggregate '{}' of the plan is none that queries have", name));
  AggregateCall aggregate;
  aggregate.function = row->function;
  GARUDA_TRY_ASSIGN(auto const option_messages, function.messages(AggregateFunctionField::options));
  GARUDA_TRY_ASSIGN(auto const options, read_options(option_messages));
  GARUDA_TRY(check_options(name, options, false));
  GARUDA_TRY_ASSIGN(aggregate.function, of_distribution(aggregate.function, name, value_of(options, "distribution")));
  GARUDA_TRY_ASSIGN(aggregate.distinct, read_distinct(function, name));
  GARUDA_TRY_ASSIGN(auto const arguments, function.messages(AggregateFunctionField::arguments));
  for (auto const& argument : arguments) {
    if (argument.has(ArgumentField::word)) {
      GARUDA_TRY_ASSIGN(auto const word, argument.bytes(ArgumentField::word));
      GARUDA_TRY_ASSIGN(aggregate.function, of_distribution(aggregate.function, name, word));
      continue;
    }
    GARUDA_TRY_ASSIGN(auto const expression, argument.message(ArgumentField::value));
    GARUDA_TRY_ASSIGN(auto value, reader.read(expression));
    aggregate.arguments.push_back(std::move(value));
  }
  auto const is_count = row->function == AggregateFunction::count;
  // A constant that is not null counts rows.
  if (is_count && !aggregate.distinct && aggregate.arguments.size() == 1 && is_constant_value(aggregate.arguments[0]))
    aggregate.arguments.clear();
  if (aggregate.arguments.size() != row->arguments && !(is_count && aggregate.arguments.empty()))
    return fail(ErrorCode::usage, fmt::format("aggregate '{}' of the plan does not take so many arguments: {}", name,
                                              aggregate.arguments.size()));
  if (row->function == AggregateFunction::min || row->function == AggregateFunction::max) aggregate.distinct = false;
  GARUDA_TRY_ASSIGN(aggregate.where, reader.read_optional(measure, MeasureField::filter));
  return aggregate;
}

/// The keys: the expressions that the one grouping refers to.
Result<std::vector<ScalarExpression>> read_keys(Message const& aggregate, ExpressionReader& reader) {
  GARUDA_TRY_ASSIGN(auto const groupings, aggregate.messages(AggregateField::groupings));
  if (groupings.size() > 1)
    return fail(ErrorCode::usage, "queries do not have grouping sets, as rollup and cube make them");
  if (groupings.empty()) return std::vector<ScalarExpression>{};
  GARUDA_TRY_ASSIGN(auto old_expressions, groupings[0].messages(GroupingField::old_expressions));
  if (!old_expressions.empty()) return reader.read_all(old_expressions);
  GARUDA_TRY_ASSIGN(auto const expressions, aggregate.messages(AggregateField::grouping_expressions));
  GARUDA_TRY_ASSIGN(auto const references, groupings[0].integers(GroupingField::expression_references));
  std::vector<Message> chosen;
  for (auto const reference : references) {
    if (reference >= expressions.size())
      return fail(ErrorCode::invalid_input, fmt::format("a grouping of the plan refers to one of {} expressions by its "
                                                        "position: {}",
                                                        expressions.size(), reference));
    chosen.push_back(expressions[reference]);
  }
  return reader.read_all(chosen);
}

/// A decimal of more digits, some of them behind the point, as DataFusion has sums and averages.
DataType wider(DataType const& type, std::int32_t digits, std::int32_t behind_the_point) {
  return {.id = TypeId::decimal128,
          .precision = std::min(type.precision + digits, 38),
          .scale = std::min(type.scale + behind_the_point, 38)};
}

/// Types of the first arguments of measures that have some.
Result<void> find_types(std::vector<Measure>& measures, Query const& input) {
  std::vector<NamedExpression> arguments;
  for (auto const& measure : measures)
    arguments.push_back({{}, measure.call.arguments.empty() ? literal(true) : measure.call.arguments.front()});
  if (arguments.empty()) return {};
  GARUDA_TRY_ASSIGN(auto const bound, query::bind(input.project(std::move(arguments))));
  for (std::size_t m = 0; m < measures.size(); ++m) {
    measures[m].type = bound.schema[m].type;
    // A median of integers is an integer to DataFusion, and a float to queries.
    if (measures[m].call.function == AggregateFunction::median && measures[m].type.id != TypeId::float64)
      return fail(ErrorCode::usage,
                  fmt::format("a plan's median is of float64, not {}: cast the value", to_string(measures[m].type)));
  }
  return {};
}

/// The group-by of the measures, and their values behind it: sums and averages of decimals are decimals.
class Measures {
 public:
  explicit Measures(std::size_t num_keys) : num_keys_(num_keys) {}

  void add(Measure measure) {
    auto const function = measure.call.function;
    auto const type = measure.type;
    if (function == AggregateFunction::mean && is_decimal(type)) {
      auto count = measure.call;
      count.function = AggregateFunction::count;
      measure.call.function = AggregateFunction::sum;
      auto average = call("divide", {add_call(std::move(measure.call)), add_call(std::move(count))});
      average.type = wider(type, 4, 4);
      values_.push_back(std::move(average));
      is_plain_ = false;
    } else if (function == AggregateFunction::sum && is_decimal(type)) {
      values_.push_back(cast(add_call(std::move(measure.call)), wider(type, 10, 0)));
      is_plain_ = false;
    } else {
      values_.push_back(add_call(std::move(measure.call)));
    }
  }

  Relation group(Query const& input, std::vector<NamedExpression> keys) && {
    std::vector<NamedExpression> columns;
    for (std::size_t k = 0; k < num_keys_; ++k) columns.push_back({{}, column(k)});
    for (auto& value : values_) columns.push_back({{}, std::move(value)});
    auto const width = columns.size();
    auto query = input.group_by(std::move(keys), std::move(calls_));
    if (!is_plain_) query = query.project(std::move(columns));
    Relation relation{std::move(query), width, {}};
    for (std::size_t f = 0; f < width; ++f) relation.fields.push_back(f);
    return relation;
  }

 private:
  /// The column that the call makes.
  ScalarExpression add_call(AggregateCall call) {
    calls_.push_back(std::move(call));
    return column(num_keys_ + calls_.size() - 1);
  }

  std::size_t num_keys_;
  std::vector<AggregateCall> calls_;
  std::vector<ScalarExpression> values_;
  bool is_plain_ = true;
};

}  // namespace

Result<Relation> read_aggregate(Message const& aggregate, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto const rel, aggregate.message(AggregateField::input));
  GARUDA_TRY_ASSIGN(auto input, read_relation(rel, context));
  ExpressionReader reader(std::move(input), context);
  GARUDA_TRY_ASSIGN(auto const key_values, read_keys(aggregate, reader));
  GARUDA_TRY_ASSIGN(auto const messages, aggregate.messages(AggregateField::measures));
  std::vector<Measure> measures;
  for (auto const& message : messages) {
    GARUDA_TRY_ASSIGN(auto call, read_call(message, reader, context));
    measures.push_back({std::move(call), {}});
  }
  auto const relation = reader.take_input();
  if (key_values.empty() && measures.empty())
    return fail(ErrorCode::invalid_input, "an aggregation of the plan has neither groupings nor measures");
  GARUDA_TRY(find_types(measures, relation.query));
  std::vector<NamedExpression> keys;
  for (auto const& value : key_values) keys.push_back({{}, value});
  Measures calls(keys.size());
  for (auto& measure : measures) calls.add(std::move(measure));
  return std::move(calls).group(relation.query, std::move(keys));
}

}  // namespace garuda::substrait
