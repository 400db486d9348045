// Grouping by radix partitions: keys and values of equal digits together, then one table a partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "operators/cpu/table_rows.hpp"
#include "operators/cpu/whole_group_by.hpp"

namespace garuda::operators {

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

/// Partitions the rows from `before.first_block` on; each part is a partition's groups, with those of `before` that
/// have its digit. Word: u32 or u64. Throws std::bad_alloc.
/// Requires: the table has keys. Errors: out_of_memory, cancelled.
template <class Word>
Result<std::unique_ptr<WholeGroupBy>> open_partitioned_groups(TableRows<Word> const& rows, GroupStates const& states,
                                                              GroupedBefore<Word> before,
                                                              WholeGroupByOptions const& options);

}  // namespace garuda::operators
