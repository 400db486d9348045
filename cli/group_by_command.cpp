// `garuda group-by` on the command line, and how it begins. files/group_by_run does the rest.
#include <memory>

#include "cli/arguments/group_by_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_commands.hpp"

namespace garuda::cli {

void add_group_by_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("group-by", "group a file's rows by equal keys and aggregate them");
  auto const arguments = std::make_shared<GroupByArguments>();
  add_group_by_options(command, *arguments);
  command.footer(
      "Sums are exact: integers fail when the total does not fit 64 bits, floats are rounded once.\n"
      "Keys are of any type, in any number.\n"
      "Under --memory-limit rows are grouped block by block, or split by their keys into files in --temp-folder, "
      "where\n"
      "median, quantile, count_distinct, min_n and max_n also sort or split the values of a large group.\n"
      "A backslash makes the next character part of a name: --keys 'net\\,gross' --agg 'sum:a\\=b=total'.\n"
      "Without --output, the first rows and the number of rows go to standard output.\n"
      "Examples:\n"
      "  garuda group-by lineitem.parquet --keys l_returnflag,l_linestatus --agg count,sum:l_quantity\n"
      "  garuda group-by orders.csv --keys o_custkey --agg max:o_totalprice=dearest -o dearest.parquet\n"
      "  garuda group-by orders.parquet --keys o_custkey,o_orderdate --ordered --path graphics --stats=json");
  command.callback([arguments, &context] {
    context.run = [arguments] { return report(run_on_files(to_request(*arguments), &FileCommands::group_by)); };
  });
}

}  // namespace garuda::cli
