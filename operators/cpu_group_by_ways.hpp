// The ways of the CPU path to group that the planner chooses from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/cost_model.hpp"
#include "operators/group_by_planner.hpp"

namespace garuda::operators {

struct PricedCpuGroupBy {
  Grouping grouping = Grouping::slices;
  std::uint64_t bytes = 0;  ///< host memory beside the table, its keys and the result; of slices the planner knows
  std::string reason;
  PhaseCosts costs;
};

/// Every way that `tuning` leaves open and `most_host_bytes` (0: no limit) allows, priced:
///   direct       accumulators for the whole key range in every thread, while they fit a core's second-level cache or
///                nothing else fits the memory
///   local        a hash table in every thread; gives way to the next when it no longer brings rows together
///   partitioned  keys and values radix-partitioned, then one table a partition
///   slices       not at once, but slice by slice through GroupByKernel, cut as `slices` says; never missing unless
///                another is asked for
/// Errors: usage when the keys do not allow what is asked for.
Result<std::vector<PricedCpuGroupBy>> cpu_group_by_ways(GroupByShape const& shape, GroupByTuning const& tuning,
                                                        HostRates const& host, SliceCut const& slices,
                                                        std::uint64_t most_host_bytes);

}  // namespace garuda::operators
