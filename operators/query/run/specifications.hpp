// Joins and group-bys of a query as their operators take them: columns are named by their positions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

/// Names of the result's columns in errors; plans of Substrait have none below their roots.
inline std::vector<std::string> shown_names(BoundGroupBy const& group_by, Schema const& schema) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < schema.size(); ++c) {
    auto const unnamed = c < group_by.num_keys
                             ? "key " + std::to_string(c + 1)
                             : std::string(to_string(group_by.aggregates[c - group_by.num_keys].function));
    names.push_back(schema[c].name.empty() ? unnamed : schema[c].name);
  }
  return names;
}

}  // namespace garuda::query
