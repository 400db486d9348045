#include "operators/substrait/read_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/substrait/depth.hpp"
#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/functions.hpp"
#include "operators/substrait/read_literal.hpp"
#include "operators/substrait/read_type.hpp"

namespace garuda::substrait {
namespace {

bool is_float(DataType const& type) { return type.id == TypeId::float32 || type.id == TypeId::float64; }

bool is_literal(ScalarExpression const& value) { return value.form == ScalarExpression::Form::literal; }

/// Whether a query gives one row whatever its tables hold.
bool has_one_row(Query const& query) {
  auto const& node = query.node();
  if (auto const* const group_by = std::get_if<Query::GroupBy>(&node.operation)) return group_by->keys.empty();
  if (std::holds_alternative<Query::Project>(node.operation) || std::holds_alternative<Query::Sort>(node.operation))
    return has_one_row(node.inputs.front());
  if (auto const* const join = std::get_if<Query::Join>(&node.operation))
    return join->clause.kind == JoinKind::inner && join->clause.on.empty() && !join->clause.where &&
           std::ranges::all_of(node.inputs, has_one_row);
  return false;
}

/// A chain of choices, the last one `otherwise`.
ScalarExpression chosen(std::vector<std::pair<ScalarExpression, ScalarExpression>> choices,
                        ScalarExpression otherwise) {
  for (; !choices.empty(); choices.pop_back()) {
    auto& [condition, value] = choices.back();
    otherwise = call("if", {std::move(condition), std::move(value), std::move(otherwise)});
  }
  return otherwise;
}

}  // namespace

Result<ScalarExpression> ExpressionReader::read(Message const& expression) {
  Level const level(context_.depth);
  if (level.is_too_deep()) return too_deep();
  auto const field = static_cast<ExpressionField>(expression.first_number());
  GARUDA_TRY_ASSIGN(auto const inner, expression.message(field));
  switch (field) {
    case ExpressionField::literal: {
      GARUDA_TRY_ASSIGN(auto constant, read_literal(inner));
      return literal(std::move(constant));
    }
    case ExpressionField::selection:
      return read_selection(inner);
    case ExpressionField::scalar_function:
      return read_function(inner);
    case ExpressionField::window_function:
      return read_window(inner);
    case ExpressionField::if_then:
      return read_if_then(inner);
    case ExpressionField::switch_expression:
      return read_switch(inner);
    case ExpressionField::singular_or_list:
      return read_or_list(inner);
    case ExpressionField::cast:
      return read_cast(inner);
    case ExpressionField::subquery:
      return read_subquery(inner);
  }
  constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {
      {9, "multi-or-list"}, {13, "nested"}, {14, "dynamic parameter"}, {15, "lambda"}};
  auto const* const name = std::ranges::find(kNames, expression.first_number(), [](auto const& p) { return p.first; });
  return fail(
      ErrorCode::usage,
      name == std::end(kNames)
          ? fmt::format("queries have no expression of this field of Substrait's: {}", expression.first_number())
          : fmt::format("queries do not have this expression of Substrait: {}", name->second));
}

Result<std::vector<ScalarExpression>> ExpressionReader::read_all(std::vector<Message> const& expressions) {
  std::vector<ScalarExpression> all;
  for (auto const& expression : expressions) {
    GARUDA_TRY_ASSIGN(auto value, read(expression));
    all.push_back(std::move(value));
  }
  return all;
}

Result<ScalarExpression> ExpressionReader::read_selection(Message const& selection) const {
  if (selection.has(SelectionField::outer_reference))
    return fail(ErrorCode::usage,
                "a subquery that refers to rows outside it cannot run: its producer has to turn it "
                "into a join");
  GARUDA_TRY_ASSIGN(auto const reference, selection.message(SelectionField::direct_reference));
  GARUDA_TRY_ASSIGN(auto const field, reference.message(ReferenceField::struct_field));
  GARUDA_TRY_ASSIGN(auto const position, field.integer(StructReferenceField::field));
  if (!reference.has(ReferenceField::struct_field) || field.has(StructReferenceField::child))
    return fail(ErrorCode::usage, "queries do not look into lists, maps and structs");
  if (position >= input_.fields.size())
    return fail(ErrorCode::invalid_input, fmt::format("an expression of the plan refers to one of {} fields by its "
                                                      "position: {}",
                                                      input_.fields.size(), position));
  return column(input_.fields[position]);
}

Result<ScalarExpression> ExpressionReader::read_function(Message const& function) {
  ScalarCall scalar;
  GARUDA_TRY_ASSIGN(auto const anchor, function.integer(ScalarFunctionField::function_reference));
  GARUDA_TRY_ASSIGN(scalar.name, function_name(context_, anchor));
  if (function.has(ScalarFunctionField::output_type)) {
    GARUDA_TRY_ASSIGN(auto const type, function.message(ScalarFunctionField::output_type));
    if (auto read = read_type(type)) scalar.output = *std::move(read);
  }
  if (function.has(ScalarFunctionField::old_args))
    return fail(ErrorCode::usage, fmt::format("function '{}' of the plan has its arguments where versions of Substrait "
                                              "before 0.20 had them",
                                              scalar.name));
  GARUDA_TRY_ASSIGN(auto const options, function.messages(ScalarFunctionField::options));
  GARUDA_TRY_ASSIGN(scalar.options, read_options(options));
  GARUDA_TRY(check_options(scalar.name, scalar.options, scalar.output && is_float(*scalar.output)));
  GARUDA_TRY_ASSIGN(auto const arguments, function.messages(ScalarFunctionField::arguments));
  for (auto const& message : arguments) {
    Argument argument;
    GARUDA_TRY_ASSIGN(auto const value, message.message(ArgumentField::value));
    GARUDA_TRY_ASSIGN(auto const constant, value.message(ExpressionField::literal));
    GARUDA_TRY_ASSIGN(argument.interval, read_interval(constant));
    if (message.has(ArgumentField::word)) {
      GARUDA_TRY_ASSIGN(auto const word, message.bytes(ArgumentField::word));
      argument.word = word;
    } else if (!argument.interval) {
      GARUDA_TRY_ASSIGN(argument.value, read(value));
    }
    scalar.arguments.push_back(std::move(argument));
  }
  return make_call(std::move(scalar));
}

Result<ScalarExpression> ExpressionReader::read_if_then(Message const& if_then) {
  GARUDA_TRY_ASSIGN(auto const clauses, if_then.messages(IfThenField::ifs));
  std::vector<std::pair<ScalarExpression, ScalarExpression>> choices;
  // DataFusion writes the value of `case value when …` as a first clause that has no result.
  std::optional<ScalarExpression> operand;
  for (auto const& clause : clauses) {
    GARUDA_TRY_ASSIGN(auto const condition, clause.message(ClauseField::condition));
    GARUDA_TRY_ASSIGN(auto when, read(condition));
    if (!clause.has(ClauseField::then)) {
      if (operand || !choices.empty()) return fail(ErrorCode::invalid_input, "a clause of the plan has no result");
      operand = std::move(when);
      continue;
    }
    GARUDA_TRY_ASSIGN(auto const result, clause.message(ClauseField::then));
    GARUDA_TRY_ASSIGN(auto then, read(result));
    if (operand) when = call("equal", {*operand, std::move(when)});
    choices.emplace_back(std::move(when), std::move(then));
  }
  GARUDA_TRY_ASSIGN(auto otherwise, read_optional(if_then, IfThenField::otherwise));
  return chosen(std::move(choices), std::move(otherwise).value_or(null_value()));
}

Result<ScalarExpression> ExpressionReader::read_switch(Message const& chooser) {
  GARUDA_TRY_ASSIGN(auto const match, chooser.message(SwitchField::match));
  GARUDA_TRY_ASSIGN(auto const value, read(match));
  GARUDA_TRY_ASSIGN(auto const clauses, chooser.messages(SwitchField::ifs));
  std::vector<std::pair<ScalarExpression, ScalarExpression>> choices;
  for (auto const& clause : clauses) {
    GARUDA_TRY_ASSIGN(auto const constant, clause.message(ClauseField::condition));
    GARUDA_TRY_ASSIGN(auto when, read_literal(constant));
    GARUDA_TRY_ASSIGN(auto const result, clause.message(ClauseField::then));
    GARUDA_TRY_ASSIGN(auto then, read(result));
    choices.emplace_back(call("equal", {value, literal(std::move(when))}), std::move(then));
  }
  GARUDA_TRY_ASSIGN(auto otherwise, read_optional(chooser, SwitchField::otherwise));
  return chosen(std::move(choices), std::move(otherwise).value_or(null_value()));
}

Result<ScalarExpression> ExpressionReader::read_cast(Message const& cast) {
  GARUDA_TRY_ASSIGN(auto const input, cast.message(CastField::input));
  GARUDA_TRY_ASSIGN(auto value, read(input));
  GARUDA_TRY_ASSIGN(auto const message, cast.message(CastField::type));
  GARUDA_TRY_ASSIGN(auto type, read_type(message));
  GARUDA_TRY_ASSIGN(auto const behavior, cast.integer(CastField::failure_behavior));
  return garuda::cast(std::move(value), std::move(type),
                      behavior == static_cast<std::uint64_t>(FailureBehavior::return_null));
}

Result<ScalarExpression> ExpressionReader::read_or_list(Message const& list) {
  GARUDA_TRY_ASSIGN(auto const value, list.message(OrListField::value));
  GARUDA_TRY_ASSIGN(auto const needle, read(value));
  GARUDA_TRY_ASSIGN(auto const messages, list.messages(OrListField::options));
  GARUDA_TRY_ASSIGN(auto options, read_all(messages));
  if (options.empty()) return fail(ErrorCode::invalid_input, "a list of the plan has no options");
  if (std::ranges::all_of(options, is_literal)) {
    options.insert(options.begin(), needle);
    return call("in", std::move(options));
  }
  std::vector<ScalarExpression> equal;
  for (auto& option : options) equal.push_back(call("equal", {needle, std::move(option)}));
  return call("or", std::move(equal));
}

Result<ScalarExpression> ExpressionReader::read_subquery(Message const& subquery) {
  if (subquery.has(SubqueryField::scalar)) {
    GARUDA_TRY_ASSIGN(auto const scalar, subquery.message(SubqueryField::scalar));
    return read_scalar_subquery(scalar);
  }
  if (subquery.has(SubqueryField::in_predicate)) {
    GARUDA_TRY_ASSIGN(auto const predicate, subquery.message(SubqueryField::in_predicate));
    return read_in_predicate(predicate);
  }
  if (subquery.has(SubqueryField::set_predicate)) {
    GARUDA_TRY_ASSIGN(auto const predicate, subquery.message(SubqueryField::set_predicate));
    return read_exists(predicate);
  }
  return fail(ErrorCode::usage, "queries do not have subqueries that compare a value with any or all of their rows");
}

Result<ScalarExpression> ExpressionReader::read_scalar_subquery(Message const& scalar) {
  GARUDA_TRY_ASSIGN(auto const rel, scalar.message(ScalarSubqueryField::input));
  GARUDA_TRY_ASSIGN(auto value, read_relation(rel, context_));
  if (value.fields.size() != 1)
    return fail(ErrorCode::invalid_input,
                fmt::format("a scalar subquery of the plan has one field, not {}", value.fields.size()));
  if (!has_one_row(value.query))
    return fail(ErrorCode::usage, "a scalar subquery runs only where it is an aggregate of all its rows");
  input_.query = input_.query.join(with_plain_columns(std::move(value)).query, {});
  return column(input_.width++);
}

Result<ScalarExpression> ExpressionReader::read_exists(Message const& predicate) {
  GARUDA_TRY_ASSIGN(auto const operation, predicate.integer(SetPredicateField::operation));
  if (operation != static_cast<std::uint64_t>(SetPredicate::exists))
    return fail(ErrorCode::usage, fmt::format("queries do not have this predicate of a subquery: {}", operation));
  GARUDA_TRY_ASSIGN(auto const rel, predicate.message(SetPredicateField::tuples));
  GARUDA_TRY_ASSIGN(auto const tuples, read_relation(rel, context_));
  input_.query = input_.query.join(tuples.query, {.kind = JoinKind::mark, .on = {}});
  return column(input_.width++);
}

/// A value that no row has is in the rows or not, or, where it is null or one of theirs is, null.
Result<ScalarExpression> ExpressionReader::read_in_predicate(Message const& predicate) {
  GARUDA_TRY_ASSIGN(auto const needles, predicate.messages(InPredicateField::needles));
  if (needles.size() != 1)
    return fail(ErrorCode::usage, fmt::format("a subquery is looked up by one value, not {}", needles.size()));
  GARUDA_TRY_ASSIGN(auto const needle, read(needles[0]));
  GARUDA_TRY_ASSIGN(auto const rel, predicate.message(InPredicateField::haystack));
  GARUDA_TRY_ASSIGN(auto rows, read_relation(rel, context_));
  if (rows.fields.size() != 1)
    return fail(ErrorCode::invalid_input,
                fmt::format("a subquery that is looked up by one value has one field, not {}", rows.fields.size()));
  auto const haystack = with_plain_columns(std::move(rows)).query;
  AggregateCall const count_rows{};
  AggregateCall count_values{};
  count_values.arguments.push_back(column(std::size_t{0}));
  input_.query = input_.query.join(haystack, {.kind = JoinKind::mark, .on = {{needle, column(std::size_t{0})}}})
                     .join(haystack.group_by({}, {count_rows, count_values}), {});
  auto const is_there = column(input_.width);
  auto const num_rows = column(input_.width + 1);
  auto const num_values = column(input_.width + 2);
  input_.width += 3;
  auto const is_unknown =
      call("or", {call("and", {call("is_null", {needle}), call("gt", {num_rows, literal(std::int64_t{0})})}),
                  call("lt", {num_values, num_rows})});
  return call("if", {is_there, literal(true), call("if", {is_unknown, null_value(), literal(false)})});
}

}  // namespace garuda::substrait
