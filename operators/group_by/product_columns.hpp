// The state columns of aggregates that multiply, or add what no word holds: exact integers, as the host cuts them.
#pragma once

#include "garuda/error.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::group_by {

/// Adds the state columns of aggregates of moments: looks for the lowest and the highest bit of each column's numbers,
/// and cuts what they and their products may be into integers of at most 127 bits, or 63, or 31. Blocks; uses the run's
/// threads. Nothing to do for a table on a device. Errors: out_of_memory, cancelled.
Result<void> cut_products(resolve::GroupByRequest& request, run::QueryRun& run);

}  // namespace garuda::group_by
