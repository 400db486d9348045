// What is found out and decided about a group-by before its rows are brought together.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <oneapi/tbb/task_arena.h>

#include "garuda/error.hpp"
#include "operators/group_by_kernel.hpp"
#include "operators/group_by_planner.hpp"
#include "operators/group_by_request.hpp"
#include "operators/path_choice.hpp"
#include "operators/stats_sink.hpp"
#include "operators/value_reader.hpp"
#include "partition/group_keys.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {

/// The table's keys, sampled, and its values ready to be read.
struct SampledGroupBy {
  std::optional<partition::SampledGroupKeys> keys;  ///< nullopt without key columns
  std::vector<ValueReader> values;                  ///< a state column each
};

/// Opens keys and values and samples the keys. Blocks; uses the arena's threads for columns that need a dictionary.
/// Errors: those of sample_group_keys and ValueReader::create.
Result<SampledGroupBy> sample_groups(GroupByRequest const& request, oneapi::tbb::task_arena& arena, StatsSink& stats);

/// What the planner would know if no row outside the sample widened the keys' range, which suits the ways that are
/// planned for best; nullopt when the sample leaves nothing out, so that encoding costs no more than it did.
std::optional<GroupByShape> sampled_shape(GroupByRequest const& request, SampledGroupBy const& sampled,
                                          std::uint32_t threads);

/// Whether a way that takes `rival_ns` without encoded keys is cheaper than every one that is planned for `sampled`,
/// encoding included. False when nothing can be planned. Pure.
bool is_cheaper_unencoded(double rival_ns, GroupByShape const& sampled, Machine const& machine,
                          GroupByOptions const& options);

/// Its keys, encoded, its values, and what has been decided about them.
struct PlannedGroupBy {
  partition::EncodedGroupKeys keys;  ///< without key columns: empty
  std::vector<ValueReader> values;   ///< a state column each
  GroupByPlan plan;
  partition::RadixDigit digit;  ///< of slices
};

/// Encodes the keys, plans, and chooses how rows are brought together: for slices, the radix digit. Blocks; uses the
/// arena's threads.
/// Errors: those of encode_group_keys, plan_group_by and choose_digit.
Result<PlannedGroupBy> plan_groups(GroupByRequest const& request, SampledGroupBy sampled,
                                   oneapi::tbb::task_arena& arena, StatsSink& stats);

/// The table as a path takes it whole; refers to `keys`. Requires: the keys are packed, or there are none.
WholeTable whole_table(TableView table, std::vector<StateColumn> const& states, std::vector<ValueReader> const& values,
                       partition::EncodedGroupKeys const& keys);

}  // namespace garuda::operators
