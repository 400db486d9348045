// The arguments of `garuda group-by` and `garuda explain group-by`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/arguments/run_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "io/table_files.hpp"

namespace garuda::cli {

/// Arguments of `garuda group-by` as typed.
struct GroupByArguments : RunArguments {
  std::string table;
  std::string keys;
  std::string aggregates;
};

/// The group-by that the arguments ask for.
struct GroupByRequest : RunRequest {
  io::TableFiles table;
  GroupBySpec spec;
  GroupByOptions options;
};

/// Declares the options on `app`; `arguments` must outlive the parse.
void add_group_by_options(CLI::App& app, GroupByArguments& arguments);

/// Errors: as to_request of a join.
Result<GroupByRequest> to_request(GroupByArguments const& arguments);

}  // namespace garuda::cli
