// `garuda group-by`: a file in, a file or a preview out.
#include <memory>
#include <utility>

#include "cli/arguments/group_by_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_run.hpp"
#include "garuda/engine.hpp"
#include "spill/group_by/block_groups.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::cli {
namespace {

/// The limit holds for the table too, so it is read, and spilled, by whoever groups it.
Result<void> group_within_limit(GroupByRequest const& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  GARUDA_TRY_ASSIGN(auto result, spill::group_file(*engine, of_file));
  return run.take(std::move(result));
}

Result<void> group_by(GroupByRequest& request, FileRun& run) {
  if (request.options.memory_limit_bytes != 0) return group_within_limit(request, run);
  GARUDA_TRY_ASSIGN(auto const of_file, group_by_of_file(request));
  GARUDA_TRY_ASSIGN(auto blocks, spill::BlockedGroupBy::open(of_file));
  if (blocks) {
    GARUDA_TRY_ASSIGN(auto const engine, run.engine());
    GARUDA_TRY_ASSIGN(auto result, (*std::move(blocks)).group(*engine));
    return run.take(std::move(result));
  }
  GARUDA_TRY_ASSIGN(auto const table, run.read([&] { return read_input(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  GARUDA_TRY_ASSIGN(auto result, engine->group_by(table.view(), request.spec, request.options));
  return run.take(std::move(result));
}

int run(GroupByArguments const& arguments) {
  auto request = to_request(arguments);
  if (!request) return report(request.error());
  FileRun file_run(*request, request->options);
  return report(file_run.run([&] { return group_by(*request, file_run); }));
}

}  // namespace

void add_group_by_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("group-by", "group a file's rows by equal keys and aggregate them");
  auto const arguments = std::make_shared<GroupByArguments>();
  add_group_by_options(command, *arguments);
  command.footer(
      "Sums are exact: integers fail when the total does not fit 64 bits, floats are rounded once.\n"
      "Keys are of any type, in any number.\n"
      "Under --memory-limit rows are grouped block by block, or split by their keys into files in --temp-folder; "
      "median,\n"
      "quantile, count_distinct, min_n and max_n need memory for all values of a group.\n"
      "A backslash makes the next character part of a name: --keys 'net\\,gross' --agg 'sum:a\\=b=total'.\n"
      "Without --output, the first rows and the number of rows go to standard output.\n"
      "Examples:\n"
      "  garuda group-by lineitem.parquet --keys l_returnflag,l_linestatus --agg count,sum:l_quantity\n"
      "  garuda group-by orders.csv --keys o_custkey --agg max:o_totalprice=dearest -o dearest.parquet\n"
      "  garuda group-by orders.parquet --keys o_custkey,o_orderdate --ordered --path graphics --stats=json");
  command.callback([arguments, &context] { context.run = [arguments] { return run(*arguments); }; });
}

}  // namespace garuda::cli
