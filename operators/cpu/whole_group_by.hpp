// The CPU path's group-by of a whole table: aggregates fused with the grouping, no group id ever written to memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/group_by_kernel.hpp"

namespace garuda::operators {

/// A way to group a whole table, and what it takes.
struct GroupingChoice {
  Grouping grouping = Grouping::slices;
  std::uint64_t bytes = 0;  ///< host memory beside the table, its keys and the result
  std::string reason;
};

/// Chooses how `table` is grouped: `wanted`, or by its size, key range and estimated groups, the first that fits of
///   direct       accumulators for the whole key range in every thread, when they fit a core's cache
///   local        a hash table in every thread, when the estimated groups fit; it gives way to the next when they do
///   not partitioned  keys and values radix-partitioned, then one table a partition slices       not at once, but slice
///   by slice through GroupByKernel
/// `limit_bytes`: of host memory, 0: none. Pure.
/// Errors: usage when `wanted` is `direct` and the key range has more than kMostDirectSlots values.
Result<GroupingChoice> choose_grouping(WholeTable const& table, Grouping wanted, std::uint32_t threads,
                                       std::uint64_t limit_bytes);

/// Most accumulators of direct addressing, whatever the memory.
inline constexpr std::uint64_t kMostDirectSlots = std::uint64_t{1} << 28;

/// What a whole group-by is opened with.
struct WholeGroupByOptions {
  Grouping grouping = Grouping::direct;  ///< not `automatic`, not `slices`
  Control const* control = nullptr;
  StatsSink* stats = nullptr;  ///< may be null
};

/// Groups `table` in parallel on the threads of the calling task arena. Blocks until all that is left is to make the
/// parts. nullptr: the range of a column of floats, or its infinities and NaNs, ask for the accumulators of
/// GroupByKernel. Phases reported: range (of floats), aggregate, partition.
/// Counters: rows_preaggregated, rows_partitioned.
/// Errors: out_of_memory, cancelled; those of radix_partition.
Result<std::unique_ptr<WholeGroupBy>> open_cpu_whole_group_by(WholeTable const& table,
                                                              WholeGroupByOptions const& options);

}  // namespace garuda::operators
