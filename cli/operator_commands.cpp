// `garuda join`, `garuda group-by`, `garuda run` and `garuda explain`, the plan of one of these, on the command line,
// and how they begin. files/library does the rest.
#include <memory>

#include "cli/arguments/operator_arguments.hpp"
#include "cli/arguments/query_arguments.hpp"
#include "cli/arguments/run_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_commands.hpp"
#include "cli/interrupt.hpp"

namespace garuda::cli {
namespace {

template <class Request>
using Explain = Result<void> (*FileCommands::*)(Request& request, PlanForm form);

template <class Arguments, class Request>
Result<void> explain(Arguments const& arguments, Explain<Request> command, PlanForm form) {
  GARUDA_TRY_ASSIGN(auto request, to_request(arguments));
  request.options.control.cancelled = &interrupted();
  ThreadLimit const thread_limit(request.options.threads);
  GARUDA_TRY_ASSIGN(auto const* const commands, load_file_commands());
  return (commands->*command)(request, form);
}

/// Adds what the plans of all operators have in common to `command`, whose arguments are `arguments`.
template <class Arguments, class Request>
void finish_command(CLI::App& command, std::shared_ptr<Arguments> const& arguments, Explain<Request> explained,
                    Context& context) {
  auto const form = std::make_shared<PlanForm>();
  auto* const json = command.add_flag("--json", form->json, "one JSON object");
  command.add_flag("--phases", form->phases, "each candidate's estimate by phase, too (--json has it)")->excludes(json);
  command.callback([=, &context] { context.run = [=] { return report(explain(*arguments, explained, *form)); }; });
}

}  // namespace

void add_join_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("join", "join two files on equal keys, a condition, or both");
  auto const arguments = std::make_shared<JoinArguments>();
  add_join_options(command, *arguments);
  command.footer(
      "Keys are 1 to 16 columns of any type but nested ones and intervals; columns of different types compare\n"
      "where one type holds the values of both. Null keys match nothing, unless --nulls-equal.\n"
      "Left, right and full joins have one key column, with the key of whichever side has a row; in columns that\n"
      "--columns names, rows without a row of that side are null.\n"
      "A backslash makes the next character part of a name: --on 'net\\,gross', --columns 'left.a\\,b'.\n"
      "Without --output, the first rows and the number of rows go to standard output.\n"
      "Examples:\n"
      "  garuda join customer.parquet orders.parquet --on c_custkey=o_custkey\n"
      "  garuda join a.csv b.csv --on id --columns left.name,right.total -o joined.csv\n"
      "  garuda join customer.parquet orders.parquet --on c_custkey=o_custkey --how anti --count\n"
      "  garuda join readings.parquet shifts.parquet --where 'left.at >= right.begins and left.at < right.ends'\n"
      "  garuda join a.parquet b.parquet --on id --count --path graphics --device 0 --stats=json");
  command.callback([arguments, &context] {
    context.run = [arguments] { return report(run_on_files(to_request(*arguments), &FileCommands::join)); };
  });
}

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

void add_run_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("run", "run a query: a plan of Substrait, over files");
  auto const arguments = std::make_shared<QueryArguments>();
  add_query_options(command, *arguments);
  command.footer(
      "The plan is a message of Substrait 0.20 or later, with one relation; `garuda-sql` of the Python package runs "
      "SQL.\n"
      "Its joins and group-bys run on --path, the rest on the threads of the CPU. Of each table that it names those\n"
      "columns are read that it uses. What does not fit --memory-limit is spilled.\n"
      "Without --output, the first rows and the number of rows go to standard output.\n"
      "Examples:\n"
      "  garuda run q6.substrait --table lineitem=lineitem.parquet\n"
      "  garuda run q5.substrait --tables tpch -o q5.parquet --threads 4 --stats=json\n"
      "  garuda run plan.substrait --tables tpch --table 'orders=orders/*.parquet'");
  command.callback([arguments, &context] {
    context.run = [arguments] { return report(run_on_files(to_request(*arguments), &FileCommands::run)); };
  });
}

void add_explain_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("explain", "show the plan: path, device, choices, what each would cost");
  command.require_subcommand(1);
  auto& join = *command.add_subcommand("join", "the plan of `garuda join` with the same arguments");
  auto const join_arguments = std::make_shared<JoinArguments>();
  add_join_options(join, *join_arguments);
  finish_command(join, join_arguments, &FileCommands::explain_join, context);
  join.footer(
      "The files are read, because the plan depends on the keys; nothing is joined or written, but for temporary "
      "files\n"
      "where the tables do not fit --memory-limit: then the plan is that of the first partition, and says so.\n"
      "Example:\n  garuda explain join customer.parquet orders.parquet --on c_custkey=o_custkey");
  auto& group_by = *command.add_subcommand("group-by", "the plan of `garuda group-by` with the same arguments");
  auto const group_by_arguments = std::make_shared<GroupByArguments>();
  add_group_by_options(group_by, *group_by_arguments);
  finish_command(group_by, group_by_arguments, &FileCommands::explain_group_by, context);
  group_by.footer(
      "The file is read, because the plan depends on the keys; nothing is grouped or written, but for rows that fill\n"
      "--memory-limit: they are grouped, to see how many groups there are.\n"
      "Example:\n  garuda explain group-by orders.parquet --keys o_custkey,o_orderdate --agg count");
  auto& run = *command.add_subcommand("run", "the operators of `garuda run` with the same arguments");
  auto const query_arguments = std::make_shared<QueryArguments>();
  add_query_options(run, *query_arguments);
  finish_command(run, query_arguments, &FileCommands::explain_run, context);
  run.footer("Example:\n  garuda explain run q5.substrait --tables tpch");
}

}  // namespace garuda::cli
