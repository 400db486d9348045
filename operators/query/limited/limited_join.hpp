// Joins of a query that do not fit its memory limit.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/query/limited/query_limit.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {

struct LimitedJoin {
  JoinKind kind = JoinKind::inner;
  std::vector<std::pair<std::size_t, std::size_t>> const& keys;  ///< columns of the left and of the right side
  Side build = Side::right;                                      ///< the side with fewer rows, about
  bool builds_alone = false;                                     ///< whether only the build side takes memory, not both
  /// Joins some rows of both sides, left and right, into rows that `limit` keeps. Errors: limit_exceeded where they do
  /// not fit.
  std::function<Result<Table>(TableView left, TableView right)> join;
  QueryLimit& limit;
  run::QueryRun& run;
  Control const& control;
};

/// Joins two tables that do not fit at once, partition by partition of their keys' hash; an inner join of rows with one
/// key goes block by block of a side. Blocks; runs in the arena of `run`, and as `join` does. Errors: those of `join`
/// and hash_partitions; limit_exceeded for rows of one key that do not fit.
Result<Table> join_within_limit(TableView left, TableView right, LimitedJoin const& request);

}  // namespace garuda::query
