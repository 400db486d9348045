// Grouping with an array of accumulators over the key range in every thread.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "operators/cpu/group_by/table_rows.hpp"
#include "operators/cpu/group_by/whole_group_by.hpp"

namespace garuda::cpu {

/// Adds all rows, then gives the groups by ranges of keys, ascending. Word: u32 or u64. Throws std::bad_alloc.
/// Requires: the table has no keys, or a range of at most kMostDirectSlots. Errors: out_of_memory, cancelled.
template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open_direct_groups(TableRows<Word> const& rows,
                                                                   GroupStates const& states,
                                                                   contract::WholeGroupByOptions const& options);

}  // namespace garuda::cpu
