// Queries and their expressions as they are written: made, and printed.
#include <fmt/format.h>

#include <utility>
#include <variant>

#include "garuda/query.hpp"

namespace garuda {
namespace {

std::string text_of(Literal const& literal) {
  return std::visit(
      [&]<class Value>(Value const& value) -> std::string {
        if constexpr (std::is_same_v<Value, std::monostate>)
          return "null";
        else if constexpr (std::is_same_v<Value, std::string>)
          return fmt::format("'{}'", value);
        else if constexpr (std::is_same_v<Value, std::array<std::uint64_t, 2>>)
          return fmt::format("a {}", to_string(literal.type));
        else
          return fmt::format("{}", value);
      },
      literal.value);
}

}  // namespace

ScalarExpression column(std::string name) {
  ScalarExpression expression;
  expression.name = std::move(name);
  return expression;
}

ScalarExpression column(std::size_t position) {
  ScalarExpression expression;
  expression.form = ScalarExpression::Form::position;
  expression.position = position;
  return expression;
}

ScalarExpression literal(Literal value) {
  ScalarExpression expression;
  expression.form = ScalarExpression::Form::literal;
  expression.literal = std::move(value);
  return expression;
}

ScalarExpression literal(bool value) { return literal(Literal{{TypeId::boolean}, value}); }
ScalarExpression literal(std::int64_t value) { return literal(Literal{{TypeId::int64}, value}); }
ScalarExpression literal(double value) { return literal(Literal{{TypeId::float64}, value}); }
ScalarExpression literal(std::string value) { return literal(Literal{{TypeId::utf8}, std::move(value)}); }

ScalarExpression call(std::string function, std::vector<ScalarExpression> arguments) {
  ScalarExpression expression;
  expression.form = ScalarExpression::Form::call;
  expression.name = std::move(function);
  expression.arguments = std::move(arguments);
  return expression;
}

ScalarExpression cast(ScalarExpression value, DataType type, bool null_on_failure) {
  ScalarExpression expression;
  expression.form = ScalarExpression::Form::cast;
  expression.type = std::move(type);
  expression.null_on_failure = null_on_failure;
  expression.arguments.push_back(std::move(value));
  return expression;
}

std::string to_string(ScalarExpression const& expression) {
  switch (expression.form) {
    case ScalarExpression::Form::column:
      return expression.name;
    case ScalarExpression::Form::position:
      return fmt::format("#{}", expression.position);
    case ScalarExpression::Form::literal:
      return text_of(expression.literal);
    default:
      break;
  }
  std::string arguments;
  for (auto const& argument : expression.arguments)
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", to_string(argument));
  if (expression.form == ScalarExpression::Form::cast)
    return fmt::format("cast({} as {})", arguments, to_string(*expression.type));
  return fmt::format("{}({})", expression.name, arguments);
}

Query Query::scan(ScannedTable table) { return Query(Node{std::move(table), {}}); }

Query Query::union_all(std::vector<Query> inputs) {
  GARUDA_EXPECTS(!inputs.empty());
  return Query(Node{UnionAll{}, std::move(inputs)});
}

Query Query::filter(ScalarExpression predicate) const { return Query(Node{Filter{std::move(predicate)}, {*this}}); }

Query Query::project(std::vector<NamedExpression> columns) const {
  return Query(Node{Project{std::move(columns)}, {*this}});
}

Query Query::join(Query right, JoinClause clause) const {
  return Query(Node{Join{std::move(clause)}, {*this, std::move(right)}});
}

Query Query::group_by(std::vector<NamedExpression> keys, std::vector<AggregateCall> aggregates) const {
  return Query(Node{GroupBy{std::move(keys), std::move(aggregates)}, {*this}});
}

Query Query::distinct() const { return Query(Node{Distinct{}, {*this}}); }
Query Query::sort(std::vector<SortKey> keys) const { return Query(Node{Sort{std::move(keys)}, {*this}}); }
Query Query::number_rows(std::string name, std::vector<ScalarExpression> partition, std::vector<SortKey> keys) const {
  return Query(Node{NumberRows{std::move(name), std::move(partition), std::move(keys)}, {*this}});
}
Query Query::limit(std::optional<std::uint64_t> rows, std::uint64_t offset) const {
  return Query(Node{Limit{offset, rows}, {*this}});
}

}  // namespace garuda
