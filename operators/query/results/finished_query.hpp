// The rows of a query that has run, and the names of their columns.
#pragma once

#include <memory>

#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "garuda/table.hpp"

namespace garuda::query {

/// The same rows, their columns named by their positions, as those between operators are.
Table with_positions(Table table);

/// A result of these rows, whose columns have the names that `wanted` has. Requires: a field for each column.
std::unique_ptr<QueryResult> finished_query(Schema const& wanted, Table table, Plan plan, RunStats stats);

}  // namespace garuda::query
