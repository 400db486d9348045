#include "cli/arguments/group_by_arguments.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/escaped_text.hpp"

namespace garuda::cli {
namespace {

Result<std::vector<std::string>> parse_keys(std::string_view text) {
  std::vector<std::string> keys;
  if (text.empty()) return keys;
  for (auto const part : split_unescaped(text, ',')) {
    if (part.empty())
      return fail(ErrorCode::usage, fmt::format("--keys wants column names, separated by commas: '{}'", text));
    GARUDA_TRY_ASSIGN(auto key, unescape(part));
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

void add_group_by_options(CLI::App& app, GroupByArguments& arguments) {
  app.add_option("TABLE", arguments.table, std::string("table: ") + kTableHelp)->required()->option_text(" ");
  app.add_option("--keys", arguments.keys, "columns that rows of a group agree on (default: all rows are one group)")
      ->type_name("A[,B…]");
  app.add_option("--agg", arguments.aggregates,
                 "count, sum, min, max, mean, var, std, median, first, last, any, count_distinct, product, bool_and, "
                 "bool_or, of a column (count: or of rows); var_pop, std_pop; covar, covar_pop, corr, arg_min, arg_max "
                 "of X:Y; quantile:X:Q; min_n:X:K, max_n:X:K; under a name of its own if wanted (default: the distinct "
                 "keys)")
      ->type_name("FN[:COLUMN[:…]][=NAME][,…]");
  app.add_flag("--ordered", arguments.ordered, "groups in the order of their first rows");
  add_temp_folder_option(app, arguments, "what does not fit --memory-limit is spilled");
  add_run_options(app, arguments, "address=hash|direct,keys=packed|words|rowid,lanes=2");
}

Result<GroupByRequest> to_request(GroupByArguments const& arguments) {
  GroupByRequest request;
  GARUDA_TRY_ASSIGN(request.spec.keys, parse_keys(arguments.keys));
  GARUDA_TRY_ASSIGN(request.spec.aggregates, parse_aggregates(arguments.aggregates));
  if (request.spec.keys.empty() && request.spec.aggregates.empty())
    return fail(ErrorCode::usage, "group-by wants --keys, --agg or both");
  request.spec.ordered = arguments.ordered;
  GARUDA_TRY(set_run_options(arguments, request.options));
  GARUDA_TRY_ASSIGN(request.options.tuning, parse_group_by_tuning(arguments.tuning));
  GARUDA_TRY_ASSIGN(request.table, io::find_files(arguments.table));
  GARUDA_TRY_ASSIGN(static_cast<RunRequest&>(request), to_run_request(arguments));
  request.input_bytes = request.table.bytes();
  return request;
}

}  // namespace garuda::cli
