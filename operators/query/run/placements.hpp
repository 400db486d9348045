// How and where each operator of a query runs: decided before it runs, alike for runs and for plans of what has not
// run.
#pragma once

#include <cstdint>

#include "garuda/plan.hpp"
#include "garuda/query.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/results/common_subtrees.hpp"
#include "operators/query/run/device_query.hpp"

namespace garuda::query {

enum class Manner : std::uint8_t {
  table,   ///< the rows of a table of the host
  device,  ///< on the device of the query, over rows that live there
  step,    ///< of a pipeline on the host; of a join, by a build side that is there before
  groups,  ///< a group-by that takes rows as a pipeline gives them, where they turn out to have few groups
  whole,   ///< a join or a group-by that takes the whole rows of its inputs, on the path that its planner chooses
  host     ///< a sort, a limit, a union or numbers of rows, over the whole rows of its inputs, on the host
};

class Placements {
 public:
  /// Borrows all of its arguments. `device`: of the query's operators; nullptr: none has one.
  Placements(QueryOptions const& options, contract::DeviceSet& devices, DeviceQuery const* device,
             CommonSubtrees const& common) noexcept
      : options_(options), devices_(devices), device_(device), common_(common) {}

  /// `is_result`: the rows of the operator, all of them, are the query's.
  Manner manner_of(Bound const& query, bool is_result) const;

  /// The node of an operator, without its inputs: where it runs, and why.
  Plan node_of(Bound const& query, Manner manner) const;

 private:
  Manner manner_of_join(BoundJoin const& join, Bound const& query, bool is_result) const;
  Manner manner_of_group_by(BoundGroupBy const& group_by, Bound const& query) const;
  bool has_no_steps(Bound const& query) const;
  void set_path(Plan& plan) const;

  QueryOptions const& options_;
  contract::DeviceSet& devices_;
  DeviceQuery const* device_;
  CommonSubtrees const& common_;
};

}  // namespace garuda::query
