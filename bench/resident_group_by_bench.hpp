// `garuda bench group-by --mode resident --path compute`: group-bys of tables in device memory, timed by the device.
#pragma once

#include <string>

#include "bench/group_by_bench.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Generates the table, uploads it, groups it on the device and compares the whole result with ReferenceGroups; then
/// groups it `repeat` times, beside copies of as many bytes as the group-by reads and writes once. The number of groups
/// drawn stands for the planner's estimate. `compute_tuning`: as operators::apply_tuning. Blocks. Errors: usage for
/// another path than compute, more than one key, values that are not integers, and means; those of run_group_by_bench.
Result<GroupByOutcome> run_resident_group_by_bench(GroupByBenchRequest const& request,
                                                   std::string const& compute_tuning);

}  // namespace garuda::bench
