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
  JoinClause clause{.kind = kind, .on = {}, .where = std::move(expression)};
  Relation joined{left.query.join(right.query, std::move(clause)), width, pairs.fields};
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
