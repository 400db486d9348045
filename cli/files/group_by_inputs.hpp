// The table of a group-by, read from its files.
#pragma once

#include "cli/arguments/group_by_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {

/// Reads of the file the columns that `request` uses, and no others. Errors: as io::read_table.
Result<Table> read_input(GroupByRequest const& request);

/// The group-by of the file, of the columns that `request` uses and no others: a memory limit holds for the table, too.
/// Errors: those of io::read_fields.
Result<spill::FileGroupBy> group_by_of_file(GroupByRequest const& request);

}  // namespace garuda::cli
