// The two tables of a join, read from their files.
#pragma once

#include "cli/join_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/table_reader.hpp"

namespace garuda::cli {

struct JoinInputs {
  Table left;
  Table right;
};

/// What `request` reads of both files: the columns that it uses, and no others.
struct JoinFiles {
  io::ReadOptions left;
  io::ReadOptions right;
};
/// Errors: those of io::read_fields.
Result<JoinFiles> files_of(JoinRequest const& request);

/// Reads of both files the columns that `request` uses, and no others.
/// Errors: as io::read_table.
Result<JoinInputs> read_inputs(JoinRequest const& request);

}  // namespace garuda::cli
