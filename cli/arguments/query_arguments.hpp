// The arguments of `garuda run` and of `garuda explain run`.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "cli/arguments/run_arguments.hpp"
#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "io/table_files.hpp"

namespace garuda::cli {

/// Arguments of `garuda run` as typed.
struct QueryArguments : RunArguments {
  std::string plan;
  std::vector<std::string> tables;
  std::string folder;
  bool strict = false;
};

/// The query that the arguments ask for.
struct QueryRequest : RunRequest {
  std::string plan;  ///< A message of Substrait.
  /// The tables that the plan may read. Those that were named come before those of a folder, so that a name of both
  /// means the former.
  std::vector<io::NamedFiles> tables;
  QueryOptions options;
};

/// Declares the options on `app`; `arguments` must outlive the parse.
void add_query_options(CLI::App& app, QueryArguments& arguments);

/// Reads the plan. Errors: as to_request of a join; invalid_input also for a plan that cannot be read.
Result<QueryRequest> to_request(QueryArguments const& arguments);

}  // namespace garuda::cli
