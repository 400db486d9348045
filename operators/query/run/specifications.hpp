// Joins and group-bys of a query as their operators take them: columns are named by their positions.
#pragma once

#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

inline JoinSpec spec_of(BoundJoin const& join) {
  JoinSpec spec;
  spec.kind = join.kind;
  spec.nulls_equal = join.nulls_equal;
  spec.where = join.where;
  spec.allow_cross = true;
  for (auto const& [left_key, right_key] : join.keys)
    spec.on.emplace_back(column_name(left_key), column_name(right_key));
  spec.columns.emplace();
  for (auto const column : join.left_columns) spec.columns->push_back({Side::left, column_name(column)});
  for (auto const column : join.right_columns) spec.columns->push_back({Side::right, column_name(column)});
  return spec;
}

inline GroupBySpec spec_of(BoundGroupBy const& group_by) {
  GroupBySpec spec;
  for (std::size_t k = 0; k < group_by.num_keys; ++k) spec.keys.push_back(column_name(k));
  spec.aggregates = group_by.aggregates;
  return spec;
}

}  // namespace garuda::query
