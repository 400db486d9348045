#include "cli/arguments/group_by_arguments.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "cli/interrupt.hpp"
#include "core/escaped_text.hpp"
#include "io/table_reader.hpp"

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

/// The columns that `request` uses; when it only counts rows, one that garuda can read.
Result<std::vector<std::string>> used_columns(GroupByRequest const& request) {
  auto columns = request.spec.keys;
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column) columns.push_back(*column);
  if (!columns.empty()) return columns;
  GARUDA_TRY_ASSIGN(auto const fields, io::read_fields(request.table));
  for (auto const& field : fields)
    if (field.field) return std::vector{field.name};
  return fail(ErrorCode::invalid_input, fmt::format("{} has no column of a type that garuda has", request.table.name));
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
  add_run_options(app, arguments, "address=hash|direct,keys=packed|words|rowid,image=4096");
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

namespace {

/// Whether an aggregate's type is its own, however wide its column is stored. Others may give the type that they get.
bool has_own_type(AggregateFunction function) {
  using enum AggregateFunction;
  switch (function) {
    case count:
    case sum:
    case mean:
    case var:
    case var_pop:
    case std_dev:
    case std_dev_pop:
    case covar:
    case covar_pop:
    case corr:
      return true;
    default:
      return false;
  }
}

Result<io::ReadOptions> read_options(GroupByRequest const& request) {
  io::ReadOptions options;
  GARUDA_TRY_ASSIGN(options.columns, used_columns(request));
  options.as_stored = request.strings == StringForm::utf8;  // views refer to plain values
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column && !has_own_type(aggregate.function)) options.plain_columns.push_back(*column);
  options.threads = request.options.threads;
  options.bytes_read = request.bytes_read;
  options.cancelled = &interrupted();
  return options;
}

}  // namespace

Result<Table> read_input(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const options, read_options(request));
  return io::read_table(request.table, options);
}

Result<spill::FileGroupBy> group_by_of_file(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto options, read_options(request));
  return spill::FileGroupBy{{request.table, std::move(options)}, request.spec, request.options, request.temp_folder};
}

}  // namespace garuda::cli
