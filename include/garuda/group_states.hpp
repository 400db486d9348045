// Exact states of groups (Aggregate::as_state): of parts of a table they merge to those of the table, wherever the
// parts were grouped, and are rounded once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"

namespace garuda {

/// Merges the rows of each group. `states`: columns of large_binary, as group-bys give them. `groups`: the group of
/// each row, below `num_groups`. Returns `num_groups` rows of the same columns, in the order of groups. Bits do not
/// depend on the order of rows. Blocks. Errors: usage for other columns, another number of rows, or a group out of
/// range; invalid_input for bytes that are no state, of different aggregates, or missing in a group; cancelled,
/// out_of_memory.
Result<Table> merge_states(TableView states, std::span<std::uint64_t const> groups, std::uint64_t num_groups,
                           Control const& control = {});

/// The values of states: column i of `states` has those of `aggregates[i]`, an aggregate of a table of the columns
/// `rows`. Returns a column an aggregate, by its name. Blocks. Errors: those of Engine::group_by for the aggregates and
/// of merge_states for the states; invalid_input for a value beyond its type.
Result<Table> values_of_states(TableView states, Schema const& rows, std::vector<Aggregate> const& aggregates,
                               Control const& control = {});

}  // namespace garuda
