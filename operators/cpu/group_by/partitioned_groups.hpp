// Grouping by radix partitions: keys and values of equal digits together, then one table a partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "operators/cpu/group_by/table_rows.hpp"

namespace garuda::cpu {

/// Bytes of a group in a hash table beside its states: an entry, twice over since half are free, and the key.
inline constexpr std::uint64_t kHashBytes = 2 * 16 + 8;

/// Groups of the blocks before `first_block`, in tables whose groups may have the same keys.
template <class Word>
struct GroupedBefore {
  std::size_t first_block = 0;
  std::vector<GroupTable<Word>> tables;  ///< of hashed slots

  std::uint64_t num_groups() const noexcept {
    std::uint64_t groups = 0;
    for (auto const& table : tables) groups += table.num_slots();
    return groups;
  }
};

/// Sizes that change speed and memory only.
struct PartitionSizes {
  /// Bytes of a partition's table: half of a core's second-level cache.
  std::uint64_t table_bytes = std::uint64_t{1} << 19;
  /// Fewest rows that are partitioned at once when the tables of all partitions are kept: so many that the tables do
  /// not come through the cache too often, so few that their copies stay small beside the table.
  std::uint64_t chunk_rows = std::uint64_t{1} << 26;
};

/// Partitions the rows from `before.first_block` on; each part is a partition's groups, with those of `before` that
/// have its digit. Word: u32 or u64. Throws std::bad_alloc.
/// Requires: the table has keys. Errors: out_of_memory, cancelled.
template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open_partitioned_groups(TableRows<Word> const& rows,
                                                                        GroupStates const& states,
                                                                        GroupedBefore<Word> before,
                                                                        contract::WholeGroupByOptions const& options,
                                                                        PartitionSizes const& sizes = {});

}  // namespace garuda::cpu
