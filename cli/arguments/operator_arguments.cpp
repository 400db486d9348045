#include "cli/arguments/operator_arguments.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/escaped_text.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::cli {
namespace {

/// A failure to read what an option was given.
tl::unexpected<Error> wrong(Error error, std::string_view option) {
  return tl::unexpected(std::move(error).wrap(std::string(option)));
}

Result<std::vector<std::pair<std::string, std::string>>> parse_on(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> on;
  for (auto const pair : split_unescaped(text, ',')) {
    auto const names = split_unescaped(pair, '=');
    if (names.size() > 2 || names.front().empty() || names.back().empty())
      return fail(ErrorCode::usage, fmt::format("--on wants LEFT=RIGHT, or one name that both sides have, separated by "
                                                "commas: '{}'",
                                                text));
    GARUDA_TRY_ASSIGN(auto left, unescape(names.front()));
    GARUDA_TRY_ASSIGN(auto right, unescape(names.back()));
    on.emplace_back(std::move(left), std::move(right));
  }
  if (on.size() > resolve::kMostKeys)
    return fail(ErrorCode::usage,
                fmt::format("--on wants 1 to {} pairs of key columns: {}", resolve::kMostKeys, on.size()));
  return on;
}

Result<JoinKind> parse_how(std::string_view text) {
  auto kind = parse_join_kind(text);
  if (kind) return kind;
  return wrong(std::move(kind).error(), "--how");
}

Result<std::vector<ColumnRef>> parse_columns(std::string_view text) {
  std::vector<ColumnRef> columns;
  for (auto const part : split_unescaped(text, ',')) {
    auto column = parse_column_ref(part);
    if (!column) return wrong(std::move(column).error(), "--columns");
    columns.push_back(*std::move(column));
  }
  return columns;
}

Result<JoinSpec> to_spec(JoinArguments const& arguments) {
  JoinSpec spec;
  spec.nulls_equal = arguments.nulls_equal;
  GARUDA_TRY_ASSIGN(spec.kind, parse_how(arguments.how));
  if (!arguments.on.empty()) {
    GARUDA_TRY_ASSIGN(spec.on, parse_on(arguments.on));
  }
  spec.allow_cross = arguments.allow_cross;
  if (!arguments.columns.empty()) {
    GARUDA_TRY_ASSIGN(spec.columns, parse_columns(arguments.columns));
  }
  spec.ordered = arguments.ordered;
  if (!arguments.where.empty()) {
    auto where = parse_condition(arguments.where);
    if (!where) return wrong(std::move(where).error(), "--where");
    spec.where = *std::move(where);
  }
  GARUDA_TRY(resolve::check_matching(spec));
  GARUDA_TRY(resolve::check_sides(spec));
  return spec;
}

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

void add_join_options(CLI::App& app, JoinArguments& arguments) {
  app.add_option("LEFT", arguments.left, std::string("left table: ") + kTableHelp)->required()->option_text(" ");
  app.add_option("RIGHT", arguments.right, "right table")->required()->option_text(" ");
  app.add_option("--on", arguments.on,
                 "key columns that must be equal, at most 16 of each side; one name when both sides call it so.\n"
                 "Without it rows match by --where alone")
      ->check(not_empty())
      ->type_name("LEFT=RIGHT,…");
  app.add_option("--how", arguments.how,
                 "inner: pairs of rows that match, the default; left, right, full: also the rows of that "
                 "side,\nor of both, without a match; semi, anti: left rows with a match, without one; mark: all left "
                 "rows,\nand whether they have one")
      ->type_name("KIND");
  app.add_flag("--nulls-equal", arguments.nulls_equal, "null keys match null keys; else they match nothing");
  app.add_option("--columns", arguments.columns,
                 "columns of the result in order (default: all left, then all right without the keys; left alone "
                 "for\nsemi, anti "
                 "and mark)")
      ->check(not_empty())
      ->type_name("left.A,right.B,…");
  app.add_option("--where", arguments.where,
                 "what must be true of rows, with equal keys where --on names some, for them to match: comparisons (=, "
                 "<>, <, <=, >, >=) of\n"
                 "left.NAME, right.NAME, numbers, 'text', true, false and null, joined by and, or, not and (…)")
      ->check(not_empty())
      ->type_name("CONDITION");
  app.add_flag("--allow-cross", arguments.allow_cross,
               "without --on and --where: every left row with every right one, else an error");
  app.add_flag("--count", arguments.count, "print the number of rows only; no row is made");
  app.add_flag("--ordered", arguments.ordered, "rows sorted by left row, then right row");
  add_temp_folder_option(app, arguments, "tables that do not fit --memory-limit are spilled");
  add_run_options(app, arguments, "address=hash|direct,storage=stack|runs,lanes=2");
}

Result<JoinRequest> to_request(JoinArguments const& arguments) {
  JoinRequest request;
  GARUDA_TRY_ASSIGN(request.spec, to_spec(arguments));
  GARUDA_TRY(set_run_options(arguments, request.options));
  GARUDA_TRY_ASSIGN(request.options.tuning, parse_join_tuning(arguments.tuning));
  request.count = arguments.count;
  GARUDA_TRY_ASSIGN(request.left, io::find_files(arguments.left));
  GARUDA_TRY_ASSIGN(request.right, io::find_files(arguments.right));
  if (!arguments.output.empty() && arguments.count)
    return fail(ErrorCode::usage, "--count makes no rows, so there is nothing to write to --output");
  GARUDA_TRY_ASSIGN(static_cast<RunRequest&>(request), to_run_request(arguments));
  request.input_bytes = request.left.bytes() + request.right.bytes();
  return request;
}

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
