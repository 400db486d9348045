// Grouping with a hash table in every thread, as long as that brings rows together.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"
#include "operators/cpu/group_by/table_rows.hpp"
#include "operators/cpu/group_by/whole_group_by.hpp"

namespace garuda::cpu {

/// Bytes of a group in a hash table beside its states: an entry, twice over since half are free, and the key.
inline constexpr std::uint64_t kHashBytes = 2 * 16 + 8;

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

/// Below it a pre-aggregated group costs more than the rows that it stands for.
inline constexpr std::uint64_t kFewestRowsPerGroup = 4;

}  // namespace garuda::cpu
