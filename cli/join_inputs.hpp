// The two tables of a join, read from their files.
#pragma once

#include "cli/join_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::cli {

struct JoinInputs {
  Table left;
  Table right;
};

/// Reads of both files the columns that `request` uses, and no others.
/// Errors: as io::read_table.
Result<JoinInputs> read_inputs(JoinRequest const& request);

}  // namespace garuda::cli
