// Groups rows by their keys on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::cpu {

/// Dense group ids in the order of the groups' first rows.
struct RowGroups {
  std::vector<std::uint32_t> ids;    ///< a row
  std::vector<std::uint32_t> heads;  ///< a group: its first row, ascending
};

/// Groups the rows of `slice` (fewer than 2^32) on the calling thread: by a table over the key range when that is
/// small, else by a hash table with linear probing. `control` may be null. Errors: out_of_memory, cancelled.
Result<RowGroups> group_rows(contract::GroupSlice const& slice, Control const* control);

}  // namespace garuda::cpu
