#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "expr/sides.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/bind_join.hpp"

namespace garuda::query {
namespace {

/// Which columns of a table are read, by position.
using Needed = std::vector<bool>;

/// A query that gives some of the columns that it gave.
struct Pruned {
  Bound query;
  std::map<std::size_t, std::size_t> places;  ///< of columns that are needed: where they are now
};

void need(expr::Expression const& expression, Needed& needed) {
  expr::visit_columns(expression, [&](std::size_t column) { needed[column] = true; });
}

void move(expr::Expression& expression, std::map<std::size_t, std::size_t> const& places) {
  expr::visit_columns(expression, [&](std::size_t& column) { column = places.at(column); });
}

std::map<std::size_t, std::size_t> places_of(std::vector<std::size_t> const& kept) {
  std::map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < kept.size(); ++i) places[kept[i]] = i;
  return places;
}

Pruned prune(Bound query, Needed needed);

/// The columns that are kept: those that are needed, or the first one, which says how many rows there are.
std::vector<std::size_t> kept_columns(Needed const& needed) {
  std::vector<std::size_t> kept;
  for (std::size_t c = 0; c < needed.size(); ++c)
    if (needed[c]) kept.push_back(c);
  if (kept.empty() && !needed.empty()) kept.push_back(0);
  return kept;
}

Schema some_fields(Schema const& schema, std::vector<std::size_t> const& kept) {
  Schema fields;
  for (auto const column : kept) fields.push_back(schema[column]);
  return fields;
}

Pruned prune_scan(Bound scan, Needed const& needed) {
  auto const kept = kept_columns(needed);
  BoundProject picked;
  picked.columns.assign(kept.begin(), kept.end());
  auto schema = some_fields(scan.schema, kept);
  return {with_input(std::move(picked), std::move(scan), std::move(schema)), places_of(kept)};
}

/// Picks of picks are picks: a query that was pruned before has them above its scans.
void compose_picks(BoundProject& project, Bound& input) {
  auto const* const below = std::get_if<BoundProject>(&input.operation);
  if (below == nullptr || !project.only_picks() || !below->only_picks()) return;
  for (auto& column : project.columns) column = below->columns[std::get<std::size_t>(column)];
  auto scanned = std::move(input.inputs[0]);
  input = std::move(scanned);
}

Pruned prune_project(Bound query, Needed const& needed) {
  auto& project = std::get<BoundProject>(query.operation);
  auto const kept = kept_columns(needed);
  Needed below(query.inputs[0].schema.size());
  for (auto const column : kept)
    if (auto const* const position = std::get_if<std::size_t>(&project.columns[column]))
      below[*position] = true;
    else
      need(std::get<expr::Expression>(project.columns[column]), below);
  auto input = prune(std::move(query.inputs[0]), std::move(below));
  BoundProject bound;
  for (auto const column : kept) {
    bound.columns.push_back(std::move(project.columns[column]));
    if (auto* const position = std::get_if<std::size_t>(&bound.columns.back()))
      *position = input.places.at(*position);
    else
      move(std::get<expr::Expression>(bound.columns.back()), input.places);
  }
  compose_picks(bound, input.query);
  auto schema = some_fields(query.schema, kept);
  return {with_input(std::move(bound), std::move(input.query), std::move(schema)), places_of(kept)};
}

/// An operator that gives the columns of its input: the input's, pruned.
Pruned above(Bound query, Pruned input) {
  query.schema = input.query.schema;
  query.inputs[0] = std::move(input.query);
  return {std::move(query), std::move(input.places)};
}

Pruned prune_filter(Bound query, Needed needed) {
  auto& predicate = std::get<BoundFilter>(query.operation).predicate;
  need(predicate, needed);
  auto input = prune(std::move(query.inputs[0]), std::move(needed));
  move(predicate, input.places);
  return above(std::move(query), std::move(input));
}

Pruned prune_sort(Bound query, Needed needed) {
  auto& sort = std::get<BoundSort>(query.operation);
  for (auto const& column : sort.columns) needed[column.column] = true;
  auto input = prune(std::move(query.inputs[0]), std::move(needed));
  for (auto& column : sort.columns) column.column = input.places.at(column.column);
  return above(std::move(query), std::move(input));
}

/// The numbers stand behind the columns of the input; where nothing reads them, none are made.
Pruned prune_number(Bound query, Needed needed) {
  auto& number = std::get<BoundNumber>(query.operation);
  bool const is_read = needed.back();
  needed.pop_back();
  if (!is_read) return prune(std::move(query.inputs[0]), std::move(needed));
  for (auto const& column : number.columns) needed[column.column] = true;
  auto const field = query.schema.back();
  auto const place = needed.size();
  auto input = prune(std::move(query.inputs[0]), std::move(needed));
  for (auto& column : number.columns) column.column = input.places.at(column.column);
  input.places[place] = input.query.schema.size();
  auto pruned = above(std::move(query), std::move(input));
  pruned.query.schema.push_back(field);
  return pruned;
}

/// One side of a join: the columns of its result, of its keys and of its condition.
struct PrunedSide {
  Pruned input;
  std::vector<std::size_t> columns;  ///< of the pruned input that the result has
  std::vector<std::size_t> kept;     ///< among the columns that the result had of this side
};

/// `num_left`: columns of the left input.
PrunedSide prune_side(BoundJoin const& join, Side side, Bound input, Needed const& needed, std::size_t first,
                      std::size_t num_left) {
  auto const& columns = side == Side::left ? join.left_columns : join.right_columns;
  Needed below(input.schema.size());
  PrunedSide pruned;
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (needed[first + c]) pruned.kept.push_back(c);
  for (auto const c : pruned.kept) below[columns[c]] = true;
  for (auto const& [left, right] : join.keys) below[side == Side::left ? left : right] = true;
  if (join.where)
    for (auto const& name : columns_of(*join.where, side)) below[column_position(name)] = true;
  if (join.pairs)
    expr::visit_columns(*join.pairs, [&](std::size_t column) {
      if ((column < num_left) == (side == Side::left)) below[side == Side::left ? column : column - num_left] = true;
    });
  pruned.input = prune(std::move(input), std::move(below));
  for (auto const c : pruned.kept) pruned.columns.push_back(pruned.input.places.at(columns[c]));
  return pruned;
}

void move(Condition& condition, PrunedSide const& left, PrunedSide const& right) {
  for (auto* operand : {&condition.comparison.first, &condition.comparison.second})
    if (auto* const column = std::get_if<ColumnRef>(operand); column != nullptr && !column->name.empty()) {
      auto const& places = (column->side == Side::left ? left : right).input.places;
      column->name = column_name(places.at(column_position(column->name)));
    }
  for (auto& part : condition.parts) move(part, left, right);
}

Pruned prune_join(Bound query, Needed needed) {
  auto& join = std::get<BoundJoin>(query.operation);
  auto const num_left = join.left_columns.size();
  auto const num_columns = num_left + join.right_columns.size();
  // A result has at least one column of its inputs, beside a mark.
  if (std::find(needed.begin(), needed.begin() + static_cast<std::ptrdiff_t>(num_columns), true) ==
      needed.begin() + static_cast<std::ptrdiff_t>(num_columns))
    needed[0] = true;
  auto const left_width = query.inputs[0].schema.size();
  auto left = prune_side(join, Side::left, std::move(query.inputs[0]), needed, 0, left_width);
  auto right = prune_side(join, Side::right, std::move(query.inputs[1]), needed, num_left, left_width);
  for (auto& [left_key, right_key] : join.keys) {
    left_key = left.input.places.at(left_key);
    right_key = right.input.places.at(right_key);
  }
  if (join.where) move(*join.where, left, right);
  if (join.pairs)
    expr::visit_columns(*join.pairs, [&](std::size_t& column) {
      column = column < left_width ? left.input.places.at(column)
                                   : left.input.query.schema.size() + right.input.places.at(column - left_width);
    });
  std::vector<std::size_t> kept = left.kept;
  for (auto const c : right.kept) kept.push_back(num_left + c);
  if (query.schema.size() > num_columns) kept.push_back(num_columns);  // the mark
  join.left_columns = std::move(left.columns);
  join.right_columns = std::move(right.columns);
  query.schema = some_fields(query.schema, kept);
  query.inputs[0] = std::move(left.input.query);
  query.inputs[1] = std::move(right.input.query);
  return {std::move(query), places_of(kept)};
}

Pruned prune_all_inputs(Bound query) {
  for (auto& input : query.inputs) input = garuda::query::prune(std::move(input));
  std::vector<std::size_t> all;
  for (std::size_t c = 0; c < query.schema.size(); ++c) all.push_back(c);
  return {std::move(query), places_of(all)};
}

Pruned prune(Bound query, Needed needed) {
  if (std::holds_alternative<BoundScan>(query.operation)) return prune_scan(std::move(query), needed);
  if (std::holds_alternative<BoundProject>(query.operation)) return prune_project(std::move(query), needed);
  if (std::holds_alternative<BoundFilter>(query.operation)) return prune_filter(std::move(query), std::move(needed));
  if (std::holds_alternative<BoundSort>(query.operation)) return prune_sort(std::move(query), std::move(needed));
  if (std::holds_alternative<BoundNumber>(query.operation)) return prune_number(std::move(query), std::move(needed));
  if (std::holds_alternative<BoundJoin>(query.operation)) return prune_join(std::move(query), std::move(needed));
  if (std::holds_alternative<BoundLimit>(query.operation)) {
    auto input = prune(std::move(query.inputs[0]), std::move(needed));
    return above(std::move(query), std::move(input));
  }
  return prune_all_inputs(std::move(query));
}

}  // namespace

Bound prune(Bound query) {
  auto const schema = query.schema;
  auto pruned = prune(std::move(query), Needed(schema.size(), true));
  bool const is_same =
      pruned.query.schema.size() == schema.size() &&
      std::ranges::all_of(pruned.places, [](auto const& place) { return place.first == place.second; });
  if (is_same) return std::move(pruned.query);
  BoundProject columns;
  for (std::size_t c = 0; c < schema.size(); ++c) columns.columns.emplace_back(pruned.places.at(c));
  return with_input(std::move(columns), std::move(pruned.query), schema);
}

}  // namespace garuda::query
