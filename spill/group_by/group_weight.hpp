// What grouping takes beside the rows themselves.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"

namespace garuda::spill {

/// As what a key is hashed: dictionaries as their values.
DataType hashed_type(DataType const& type);

/// Host memory that grouping takes for a row of `table`, bytes: its key and values as they are encoded, what numbering
/// its key takes, and, since each may be a group of its own, a group's states. Errors: those of resolve_group_by.
Result<std::uint64_t> group_row_bytes(TableView table, GroupBySpec const& spec);

}  // namespace garuda::spill
