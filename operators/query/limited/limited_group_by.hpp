// Group-bys of a query whose rows do not fit its memory limit.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/query/limited/query_limit.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {

struct LimitedGroupBy {
  GroupBySpec const& spec;
  GroupByOptions const& options;
  contract::DeviceSet& devices;
  QueryLimit& limit;
  run::QueryRun& run;
};

/// Groups, and the plan of the first run that made some.
struct LimitedGroups {
  Table table;
  Plan plan;
};

/// Groups `table` within an operator's memory: at once where that fits. Else in blocks, whose groups are merged, while
/// these are few, or partition by partition of the keys' hash. The groups have the bits of those of one run. Blocks;
/// runs in the arena of `run` and in those of group-bys. Errors: those of group_by and hash_partitions; limit_exceeded
/// for a group whose values have to be there all at once and do not fit.
Result<LimitedGroups> group_within_limit(TableView table, LimitedGroupBy const& request);

}  // namespace garuda::query
