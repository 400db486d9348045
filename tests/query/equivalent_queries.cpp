// Trees of operators that mean the same as others, and trees as text.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/query/random_queries.hpp"
#include "tests/query/reference_query.hpp"

namespace garuda::testing {
namespace {

using reference::schema_of;
using Form = ScalarExpression::Form;

/// The expression with every column by its position.
ScalarExpression by_position(ScalarExpression value, Schema const& schema) {
  if (value.form == Form::column) {
    auto const found = std::ranges::find(schema, value.name, &Field::name);
    return column(static_cast<std::size_t>(found - schema.begin()));
  }
  for (auto& argument : value.arguments) argument = by_position(std::move(argument), schema);
  return value;
}

/// The expression with `move` of each position in the place of it.
ScalarExpression moved(ScalarExpression value, std::function<std::size_t(std::size_t)> const& move) {
  if (value.form == Form::position) value.position = move(value.position);
  for (auto& argument : value.arguments) argument = moved(std::move(argument), move);
  return value;
}

/// Whether the expression reads columns before `end` alone.
bool reads_before(ScalarExpression const& value, std::size_t end) {
  if (value.form == Form::position) return value.position < end;
  return std::ranges::all_of(value.arguments, [&](auto const& argument) { return reads_before(argument, end); });
}

/// Columns [first, first + count) of the input, then those before them where `wraps`.
std::vector<NamedExpression> columns_of(Schema const& schema, std::size_t first, std::size_t count) {
  std::vector<NamedExpression> columns;
  for (auto c = first; c < first + count; ++c) columns.push_back({schema[c].name, column(c)});
  return columns;
}

Query with_inputs(Query const& query, std::vector<Query> inputs) {
  return std::visit(
      [&]<class Operation>(Operation const& operation) -> Query {
        if constexpr (std::is_same_v<Operation, Query::Scan>)
          return query;
        else if constexpr (std::is_same_v<Operation, Query::Filter>)
          return inputs[0].filter(operation.predicate);
        else if constexpr (std::is_same_v<Operation, Query::Project>)
          return inputs[0].project(operation.columns);
        else if constexpr (std::is_same_v<Operation, Query::Join>)
          return inputs[0].join(inputs[1], operation.clause);
        else if constexpr (std::is_same_v<Operation, Query::GroupBy>)
          return inputs[0].group_by(operation.keys, operation.aggregates);
        else if constexpr (std::is_same_v<Operation, Query::Sort>)
          return inputs[0].sort(operation.keys);
        else if constexpr (std::is_same_v<Operation, Query::NumberRows>)
          return inputs[0].number_rows(operation.name, operation.partition, operation.keys);
        else if constexpr (std::is_same_v<Operation, Query::Limit>)
          return inputs[0].limit(operation.rows, operation.offset);
        else if constexpr (std::is_same_v<Operation, Query::Distinct>)
          return inputs[0].distinct();
        else
          return Query::union_all(std::move(inputs));
      },
      query.node().operation);
}

/// A filter as two, below a join, or by a computed column.
Query other_filter(Query::Filter const& filter, Query const& input, Draw& draw) {
  auto const& predicate = filter.predicate;
  auto const schema = schema_of(input);
  if (predicate.name == "and" && draw.one_in(2)) {
    auto rest = predicate;
    rest.arguments.erase(rest.arguments.begin());
    if (rest.arguments.size() == 1) rest = ScalarExpression(rest.arguments[0]);
    return input.filter(predicate.arguments[0]).filter(rest);
  }
  auto const* const join = std::get_if<Query::Join>(&input.node().operation);
  if (join != nullptr && (join->clause.kind == JoinKind::inner || join->clause.kind == JoinKind::left)) {
    auto const& left = input.node().inputs[0];
    auto const below = by_position(predicate, schema);
    if (reads_before(below, schema_of(left).size()))
      return left.filter(below).join(input.node().inputs[1], join->clause);
  }
  auto columns = columns_of(schema, 0, schema.size());
  columns.push_back({"is_wanted", predicate});
  return input.project(std::move(columns)).filter(column(schema.size())).project(columns_of(schema, 0, schema.size()));
}

/// The same pairs with the sides swapped.
Query swapped_join(JoinClause const& clause, Query const& left, Query const& right) {
  auto const left_schema = schema_of(left);
  auto const right_schema = schema_of(right);
  auto const num_left = left_schema.size();
  auto const num_right = right_schema.size();
  auto both = left_schema;
  both.insert(both.end(), right_schema.begin(), right_schema.end());
  auto other = clause;
  if (clause.kind == JoinKind::left) other.kind = JoinKind::right;
  if (clause.kind == JoinKind::right) other.kind = JoinKind::left;
  for (auto& [left_key, right_key] : other.on) std::swap(left_key, right_key);
  if (other.where)
    other.where = moved(by_position(*other.where, both), [&](std::size_t position) {
      return position < num_left ? num_right + position : position - num_left;
    });
  auto columns = columns_of(both, 0, num_left + num_right);
  for (std::size_t c = 0; c < columns.size(); ++c)
    columns[c].value = column(c < num_left ? num_right + c : c - num_left);
  return right.join(left, std::move(other)).project(std::move(columns));
}

/// The clause with its keys in the condition.
JoinClause without_keys(JoinClause clause, Schema const& left, Schema const& right) {
  std::vector<ScalarExpression> parts;
  for (auto const& [left_key, right_key] : clause.on)
    parts.push_back(call(clause.nulls_equal ? "is_not_distinct_from" : "equal",
                         {by_position(left_key, left),
                          moved(by_position(right_key, right), [&](std::size_t c) { return left.size() + c; })}));
  if (clause.where) {
    auto both = left;
    both.insert(both.end(), right.begin(), right.end());
    parts.push_back(by_position(*clause.where, both));
  }
  clause.on.clear();
  clause.nulls_equal = false;
  clause.where = parts.size() == 1 ? parts[0] : call("and", parts);
  return clause;
}

Query other_join(JoinClause const& clause, Query const& left, Query const& right, Draw& draw) {
  auto const left_schema = schema_of(left);
  if (clause.kind == JoinKind::semi || clause.kind == JoinKind::anti) {
    auto marked = clause;
    marked.kind = JoinKind::mark;
    auto const mark = column(left_schema.size());
    return left.join(right, std::move(marked))
        .filter(clause.kind == JoinKind::semi ? mark : call("not", {mark}))
        .project(columns_of(left_schema, 0, left_schema.size()));
  }
  // A join computes a key for every row, and a condition for pairs alone: only what cannot fail may be either.
  bool const are_columns = std::ranges::all_of(
      clause.on, [](auto const& key) { return key.first.arguments.empty() && key.second.arguments.empty(); });
  if (!clause.on.empty() && are_columns && draw.one_in(2))
    return left.join(right, without_keys(clause, left_schema, schema_of(right)));
  if (clause.kind == JoinKind::mark) return left.join(right, clause);
  if (clause.kind == JoinKind::inner && clause.where && draw.one_in(2)) {
    auto keys = clause;
    auto const where = *std::exchange(keys.where, std::nullopt);
    return left.join(right, std::move(keys)).filter(where);
  }
  return swapped_join(clause, left, right);
}

/// A query whose rows are those for which a predicate is true, false and null.
Query in_three_parts(Query const& query, Draw& draw) {
  auto const schema = schema_of(query);
  auto const predicate = RandomExpressions(schema, false, false, draw).predicate(2);
  return Query::union_all(
      {query.filter(predicate), query.filter(call("not", {predicate})), query.filter(call("is_null", {predicate}))});
}

Query other_query(Query const& query, Draw& draw) {
  auto const& [operation, inputs] = query.node();
  if (auto const* const filter = std::get_if<Query::Filter>(&operation)) return other_filter(*filter, inputs[0], draw);
  if (auto const* const join = std::get_if<Query::Join>(&operation))
    return other_join(join->clause, inputs[0], inputs[1], draw);
  auto const schema = schema_of(query);
  if (std::holds_alternative<Query::Distinct>(operation))
    return inputs[0].group_by(columns_of(schema, 0, schema.size()), {});
  if (auto const* const limit = std::get_if<Query::Limit>(&operation); limit != nullptr && limit->rows) {
    auto const wanted = std::min(*limit->rows, ~std::uint64_t{0} - limit->offset) + limit->offset;
    return with_inputs(inputs[0], {inputs[0].limit(wanted)}).limit(limit->rows, limit->offset);
  }
  if (auto const* const group_by = std::get_if<Query::GroupBy>(&operation);
      group_by != nullptr && group_by->keys.empty() && group_by->aggregates.size() == 1 &&
      group_by->aggregates[0].where) {
    auto aggregate = group_by->aggregates[0];
    auto const where = *std::exchange(aggregate.where, std::nullopt);
    return inputs[0].filter(where).group_by({}, {std::move(aggregate)});
  }
  if (std::holds_alternative<Query::Scan>(operation) && draw.one_in(3)) return in_three_parts(query, draw);
  return query.project(columns_of(schema, 0, schema.size()));
}

std::string text_of(JoinClause const& clause) {
  auto text = std::string(to_string(clause.kind)) + (clause.nulls_equal ? ", nulls equal" : "");
  for (auto const& [left, right] : clause.on) text += ", " + to_string(left) + " = " + to_string(right);
  return clause.where ? text + ", where " + to_string(*clause.where) : text;
}

std::string text_of(AggregateCall const& aggregate) {
  auto text =
      aggregate.name + ": " + std::string(to_string(aggregate.function)) + (aggregate.distinct ? " distinct" : "");
  for (auto const& argument : aggregate.arguments) text += " " + to_string(argument);
  return aggregate.where ? text + " where " + to_string(*aggregate.where) : text;
}

std::string operator_text(Query const& query) {
  return std::visit(
      [&]<class Operation>(Operation const& operation) -> std::string {
        std::string text;
        if constexpr (std::is_same_v<Operation, Query::Scan>) {
          text = "scan " + std::to_string(operation.table.num_rows()) + " rows:";
          for (auto const& field : operation.table.schema()) text += " " + field.name + " " + to_string(field.type);
        } else if constexpr (std::is_same_v<Operation, Query::Filter>) {
          text = "filter " + to_string(operation.predicate);
        } else if constexpr (std::is_same_v<Operation, Query::Project>) {
          text = "project";
          for (auto const& [name, value] : operation.columns) text += " | " + name + ": " + to_string(value);
        } else if constexpr (std::is_same_v<Operation, Query::Join>) {
          text = "join " + text_of(operation.clause);
        } else if constexpr (std::is_same_v<Operation, Query::GroupBy>) {
          text = "group by";
          for (auto const& [name, value] : operation.keys) text += " | " + name + ": " + to_string(value);
          for (auto const& aggregate : operation.aggregates) text += " | " + text_of(aggregate);
        } else if constexpr (std::is_same_v<Operation, Query::Sort>) {
          text = "sort";
          for (auto const& [value, descending, nulls_first] : operation.keys)
            text += " | " + to_string(value) + (descending ? " descending" : "") + (nulls_first ? " nulls first" : "");
        } else if constexpr (std::is_same_v<Operation, Query::NumberRows>) {
          text = "number rows as " + operation.name;
          for (auto const& value : operation.partition) text += " | by " + to_string(value);
          for (auto const& key : operation.keys) text += " | " + to_string(key.value);
        } else if constexpr (std::is_same_v<Operation, Query::Limit>) {
          text = "limit " + (operation.rows ? std::to_string(*operation.rows) : "all") + " behind " +
                 std::to_string(operation.offset);
        } else {
          text = std::is_same_v<Operation, Query::Distinct> ? "distinct" : "union all";
        }
        return text;
      },
      query.node().operation);
}

void add_text(Query const& query, std::size_t depth, std::string& text) {
  text += std::string(2 * depth, ' ') + operator_text(query) + "\n";
  for (auto const& input : query.node().inputs) add_text(input, depth + 1, text);
}

}  // namespace

Query rewrite(Query const& query, Draw& draw) {
  std::vector<Query> inputs;
  for (auto const& input : query.node().inputs) inputs.push_back(rewrite(input, draw));
  auto const same = inputs.empty() ? query : with_inputs(query, std::move(inputs));
  return draw.one_in(2) ? other_query(same, draw) : same;
}

std::string to_text(Query const& query) {
  std::string text;
  add_text(query, 0, text);
  return text;
}

}  // namespace garuda::testing
