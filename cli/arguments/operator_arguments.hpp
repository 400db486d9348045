// The arguments of `garuda join`, `garuda group-by` and of `garuda explain` with either.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "cli/arguments/run_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "io/table_files.hpp"

namespace garuda::cli {

/// Arguments of `garuda join` as typed.
struct JoinArguments : RunArguments {
  std::string left;
  std::string right;
  std::string on;
  std::string how = "inner";
  std::string columns;
  std::string where;
  bool nulls_equal = false;
  bool allow_cross = false;
  bool count = false;
};

/// The join that the arguments ask for.
struct JoinRequest : RunRequest {
  io::TableFiles left;
  io::TableFiles right;
  JoinSpec spec;
  JoinOptions options;
  bool count = false;
};

/// Declares the options on `app`; `arguments` must outlive the parse.
void add_join_options(CLI::App& app, JoinArguments& arguments);

/// Errors: usage, for values that make no sense and for what this version does not do; no_device, for a path that this
/// build does not have.
Result<JoinRequest> to_request(JoinArguments const& arguments);

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
