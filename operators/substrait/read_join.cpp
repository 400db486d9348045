// Joins of Substrait, the cross join among them, whose message has the same inputs.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/read_expression.hpp"
#include "operators/substrait/relation.hpp"

namespace garuda::substrait {
namespace {

/// A type of join as a kind, and whether its inputs change places.
struct JoinRow {
  JoinType type;
  JoinKind kind;
  bool is_mirrored;
};

constexpr JoinRow kJoins[] = {
    {JoinType::inner, JoinKind::inner, false},    {JoinType::outer, JoinKind::full, false},
    {JoinType::left, JoinKind::left, false},      {JoinType::right, JoinKind::right, false},
    {JoinType::left_semi, JoinKind::semi, false}, {JoinType::left_anti, JoinKind::anti, false},
    {JoinType::right_semi, JoinKind::semi, true}, {JoinType::right_anti, JoinKind::anti, true},
    {JoinType::left_mark, JoinKind::mark, false}, {JoinType::right_mark, JoinKind::mark, true},
};

Result<JoinRow> row_of(Message const& join) {
  if (!join.has(JoinField::type)) return kJoins[0];
  GARUDA_TRY_ASSIGN(auto const number, join.integer(JoinField::type));
  auto const* const row = std::ranges::find(kJoins, static_cast<JoinType>(number), &JoinRow::type);
  if (row == std::end(kJoins))
    return fail(ErrorCode::usage, fmt::format("queries do not have this type of join: {}", number));
  return *row;
}

/// The parts of a chain of `and`.
void add_parts(ScalarExpression expression, std::vector<ScalarExpression>& parts) {
  if (expression.form == ScalarExpression::Form::call && expression.name == "and") {
    for (auto& argument : expression.arguments) add_parts(std::move(argument), parts);
    return;
  }
  parts.push_back(std::move(expression));
}

/// The sides that an expression reads.
struct Sides {
  bool left = false;
  bool right = false;
};

Sides sides_of(ScalarExpression const& expression, std::size_t num_left) {
  if (expression.form == ScalarExpression::Form::position)
    return {expression.position < num_left, expression.position >= num_left};
  Sides sides;
  for (auto const& argument : expression.arguments) {
    auto const [left, right] = sides_of(argument, num_left);
    sides.left |= left;
    sides.right |= right;
  }
  return sides;
}

/// The expression over the right side alone.
ScalarExpression of_right(ScalarExpression expression, std::size_t num_left) {
  if (expression.form == ScalarExpression::Form::position) expression.position -= num_left;
  for (auto& argument : expression.arguments) argument = of_right(std::move(argument), num_left);
  return expression;
}

using KeyPair = std::pair<ScalarExpression, ScalarExpression>;

/// A value of each side, the left one first; nullopt: the two are of other sides.
std::optional<KeyPair> as_keys(ScalarExpression const& a, ScalarExpression const& b, std::size_t num_left) {
  auto const first = sides_of(a, num_left);
  auto const second = sides_of(b, num_left);
  if (first.left && !first.right && second.right && !second.left) return KeyPair{a, of_right(b, num_left)};
  if (first.right && !first.left && second.left && !second.right) return KeyPair{b, of_right(a, num_left)};
  return std::nullopt;
}

/// The two values that make_call wrote `is_not_distinct_from` of.
std::optional<KeyPair> not_distinct_values(ScalarExpression const& part) {
  if (part.name != "or" || part.arguments.size() != 2) return std::nullopt;
  auto const& first = part.arguments[0];
  auto const& second = part.arguments[1];
  if (first.name != "is_true" || second.name != "and" || first.arguments[0].name != "equal") return std::nullopt;
  auto const& values = first.arguments[0].arguments;
  auto const is_null_of = [&](std::size_t i) {
    return second.arguments.size() == 2 && second.arguments[i].name == "is_null" &&
           to_string(second.arguments[i].arguments.at(0)) == to_string(values.at(i));
  };
  if (values.size() != 2 || !is_null_of(0) || !is_null_of(1)) return std::nullopt;
  return KeyPair{values[0], values[1]};
}

/// Keys and the rest of a join's expression. Keys match nulls with nulls where all of them do.
JoinClause clause_of(JoinKind kind, std::vector<ScalarExpression> parts, std::size_t num_left) {
  JoinClause clause{.kind = kind, .on = {}};
  std::vector<ScalarExpression> rest;
  std::vector<std::pair<KeyPair, ScalarExpression>> null_matching;
  for (auto& part : parts) {
    if (part.name == "equal" && part.arguments.size() == 2) {
      if (auto keys = as_keys(part.arguments[0], part.arguments[1], num_left)) {
        clause.on.push_back(*std::move(keys));
        continue;
      }
    }
    if (auto const values = not_distinct_values(part))
      if (auto keys = as_keys(values->first, values->second, num_left)) {
        null_matching.emplace_back(*std::move(keys), std::move(part));
        continue;
      }
    rest.push_back(std::move(part));
  }
  clause.nulls_equal = clause.on.empty() && !null_matching.empty();
  for (auto& [keys, part] : null_matching) {
    if (clause.nulls_equal)
      clause.on.push_back(std::move(keys));
    else
      rest.push_back(call("or", {part.arguments[0].arguments[0], part.arguments[1]}));
  }
  if (rest.size() == 1) clause.where = std::move(rest.front());
  if (rest.size() > 1) clause.where = call("and", std::move(rest));
  return clause;
}

/// Fields of both sides, one after the other, the right ones behind `shift` columns.
std::vector<std::size_t> fields_of(Relation const& left, Relation const& right, std::size_t shift) {
  auto fields = left.fields;
  for (auto const field : right.fields) fields.push_back(field + shift);
  return fields;
}

}  // namespace

Result<Relation> read_join(Message const& join, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto const row, row_of(join));
  auto const kind = row.kind;
  GARUDA_TRY_ASSIGN(auto const left_rel, join.message(JoinField::left));
  GARUDA_TRY_ASSIGN(auto left, read_relation(left_rel, context));
  GARUDA_TRY_ASSIGN(auto const right_rel, join.message(JoinField::right));
  GARUDA_TRY_ASSIGN(auto right, read_relation(right_rel, context));
  // The expression's fields are the left ones, then the right ones, wherever their columns stand.
  auto const width = left.width + right.width;
  Relation pairs{left.query, width, fields_of(left, right, left.width)};
  if (row.is_mirrored) {
    pairs.fields.clear();
    for (auto const field : left.fields) pairs.fields.push_back(field + right.width);
    pairs.fields.insert(pairs.fields.end(), right.fields.begin(), right.fields.end());
    std::swap(left, right);
  }
  ExpressionReader reader(pairs, context);
  GARUDA_TRY_ASSIGN(auto expression, reader.read_optional(join, JoinField::expression));
  if (reader.input().width != width)
    return fail(ErrorCode::usage, "queries do not have subqueries in the expression of a join");
  std::vector<ScalarExpression> parts;
  if (expression) add_parts(*std::move(expression), parts);
  Relation joined{left.query.join(right.query, clause_of(kind, std::move(parts), left.width)), width, pairs.fields};
  if (kind == JoinKind::semi || kind == JoinKind::anti || kind == JoinKind::mark) {
    joined.width = left.width;
    joined.fields = left.fields;
    if (kind == JoinKind::mark) joined.fields.push_back(joined.width++);
  }
  if (!join.has(JoinField::post_join_filter)) return joined;
  ExpressionReader after(std::move(joined), context);
  GARUDA_TRY_ASSIGN(auto filter, after.read_optional(join, JoinField::post_join_filter));
  auto filtered = after.take_input();
  filtered.query = filtered.query.filter(*std::move(filter));
  return filtered;
}

}  // namespace garuda::substrait
