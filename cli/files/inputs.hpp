// The tables of a join or a group-by, read from their files.
#pragma once

#include "cli/arguments/operator_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/table_reader.hpp"
#include "spill/file_join.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {

struct JoinInputs {
  Table left;
  Table right;
};

/// Checks that the columns that a request which only counts names are in the files, and drops them from it: no row is
/// made and only keys are read. Errors: those of io::read_fields; invalid_input (unknown or ambiguous column).
Result<void> settle_counted_columns(JoinRequest& request);

/// The join of both files under the memory limit of `request`, which holds for the tables too: of the columns that it
/// uses, and no others. Errors: those of io::read_fields.
Result<spill::FileJoin> limited_join(JoinRequest const& request);

/// Reads of both files the columns that `request` uses, and no others; of the larger ones, where they are Parquet, only
/// row groups that may have a key of the smaller ones, unless rows without a match come, too.
/// Errors: as io::read_table.
Result<JoinInputs> read_inputs(JoinRequest const& request);

/// Reads of the file the columns that `request` uses, and no others. Errors: as io::read_table.
Result<Table> read_input(GroupByRequest const& request);

/// The group-by of the file, of the columns that `request` uses and no others: a memory limit holds for the table, too.
/// Errors: those of io::read_fields.
Result<spill::FileGroupBy> group_by_of_file(GroupByRequest const& request);

}  // namespace garuda::cli
