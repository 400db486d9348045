// The CPU path's group-by of a whole table: aggregates fused with the grouping, no group id ever written to memory.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"

namespace garuda::cpu {

/// Bytes of a thread's hash table: it lies in the last-level cache beside those of a few other threads.
inline constexpr std::uint64_t kLocalTableBytes = std::uint64_t{4} << 20;

/// Most accumulators of direct addressing, whatever the memory.
inline constexpr std::uint64_t kMostDirectSlots = std::uint64_t{1} << 28;

/// Groups `table` in parallel on the threads of the calling task arena. Blocks until all that is left is to make the
/// parts. nullptr: the range of a column of floats, or its infinities and NaNs, ask for the accumulators of
/// GroupByKernel. Phases reported: range (of floats), aggregate, partition.
/// Counters: rows_preaggregated, rows_partitioned.
/// Errors: out_of_memory, cancelled; those of radix_partition.
Result<std::unique_ptr<contract::WholeGroupBy>> open_cpu_whole_group_by(contract::WholeTable const& table,
                                                                        contract::WholeGroupByOptions const& options);

/// Below it a pre-aggregated group costs more than the rows that it stands for.
inline constexpr std::uint64_t kFewestRowsPerGroup = 4;

/// Adds rows to a table a thread; a table with more than `most_groups` groups is put aside for a new one. When one was
/// filled by fewer than kFewestRowsPerGroup rows a group, the rows that no thread has begun on are partitioned instead.
/// At the end all tables, and those rows, are merged, by partitions of `sizes` when there are many groups. Word: u32 or
/// u64. Throws std::bad_alloc. Requires: the table has keys. Errors: out_of_memory, cancelled; those of
/// open_partitioned_groups.
template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open_local_groups(TableRows<Word> const& rows,
                                                                  GroupStates const& states, std::uint64_t most_groups,
                                                                  contract::WholeGroupByOptions const& options,
                                                                  PartitionSizes const& sizes = {});

}  // namespace garuda::cpu
