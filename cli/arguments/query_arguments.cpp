#include "cli/arguments/query_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/escaped_text.hpp"
#include "core/os/environment.hpp"

namespace garuda::cli {
namespace {

/// Reads all bytes of a file, or of standard input.
Result<std::string> read_plan_file(std::string const& name) {
  bool const is_input = name == "-";
  std::ifstream file;
  if (!is_input) file.open(os::to_path(name), std::ios::binary);
  std::ostringstream plan;
  plan << (is_input ? std::cin.rdbuf() : file.rdbuf());
  bool const is_read = (is_input || file.is_open()) && !plan.bad() && plan.tellp() > 0;
  if (is_read) return plan.str();
  return fail(ErrorCode::invalid_input, fmt::format("cannot read a plan from {}", is_input ? "standard input" : name));
}

/// NAME=FILES; the files keep their backslashes.
Result<io::NamedFiles> parse_table(std::string_view text) {
  auto const equals = find_unescaped(text, '=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return fail(ErrorCode::usage, fmt::format("--table wants NAME=FILE, the name being the plan's: '{}'", text));
  GARUDA_TRY_ASSIGN(auto name, unescape(text.substr(0, equals)));
  GARUDA_TRY_ASSIGN(auto files, io::find_files(text.substr(equals + 1)));
  return io::NamedFiles{std::move(name), std::move(files)};
}

Result<std::vector<io::NamedFiles>> tables_of(QueryArguments const& arguments) {
  std::vector<io::NamedFiles> tables;
  for (auto const& text : arguments.tables) {
    GARUDA_TRY_ASSIGN(auto table, parse_table(text));
    if (std::ranges::find(tables, table.name, &io::NamedFiles::name) != tables.end())
      return fail(ErrorCode::usage, fmt::format("--table names this table twice: {}", table.name));
    tables.push_back(std::move(table));
  }
  if (arguments.folder.empty()) return tables;
  GARUDA_TRY_ASSIGN(auto in_folder, io::find_tables(os::to_path(arguments.folder)));
  std::ranges::move(in_folder, std::back_inserter(tables));
  return tables;
}

}  // namespace

void add_query_options(CLI::App& app, QueryArguments& arguments) {
  app.add_option("PLAN", arguments.plan, "a plan of Substrait, a binary message; -: standard input")
      ->required()
      ->option_text(" ");
  app.add_option("--table", arguments.tables,
                 std::string("a table that the plan reads by its name; once for each: ") + kTableHelp)
      ->check(not_empty())
      ->type_name("NAME=FILE");
  app.add_option("--tables", arguments.folder,
                 "a folder: each file, and each folder of files, in it is a table, called by its name without an "
                 "extension")
      ->check(not_empty())
      ->type_name("FOLDER");
  app.add_flag("--strict", arguments.strict, "an operator that does not run on --path is an error");
  add_run_options(app, arguments, "radix_bits=6,lanes=2");
  add_temp_folder_option(app, arguments, "what does not fit --memory-limit is spilled");
}

Result<QueryRequest> to_request(QueryArguments const& arguments) {
  QueryRequest request;
  GARUDA_TRY(set_run_options(arguments, request.options));
  GARUDA_TRY_ASSIGN(request.options.join_tuning, parse_join_tuning(arguments.tuning));
  GARUDA_TRY_ASSIGN(request.options.group_by_tuning, parse_group_by_tuning(arguments.tuning));
  request.options.strict = arguments.strict;
  GARUDA_TRY_ASSIGN(static_cast<RunRequest&>(request), to_run_request(arguments));
  request.options.temp_folder = request.temp_folder;
  GARUDA_TRY_ASSIGN(request.tables, tables_of(arguments));
  GARUDA_TRY_ASSIGN(request.plan, read_plan_file(arguments.plan));
  for (auto const& table : request.tables) request.input_bytes += table.files.bytes();
  return request;
}

}  // namespace garuda::cli
