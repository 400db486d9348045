// Memory that operators take for a row beside its data. What is inexact here costs speed.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::resolve {

/// Bytes of a row beside its share of a table where keys of these types are dictionary-encoded: hashes, tables of
/// different ones, and words of them all.
std::uint64_t numbering_bytes(std::span<DataType const> key_types);

/// Host memory that grouping takes for a row of `table`, bytes: its key and values as they are encoded, what numbering
/// its key takes, and, since each may be a group of its own, a group's states. Errors: those of resolve_group_by.
Result<std::uint64_t> group_row_bytes(TableView table, GroupBySpec const& spec);

}  // namespace garuda::resolve
