// `garuda join`: two files in, a file, a preview or a number out.
#include <memory>
#include <utility>

#include "cli/arguments/join_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_run.hpp"
#include "cli/join_inputs.hpp"
#include "garuda/engine.hpp"
#include "spill/file_join.hpp"

namespace garuda::cli {
namespace {

/// The limit holds for the tables too, so they are read, and spilled, by whoever joins them.
Result<void> join_within_limit(JoinRequest const& request, FileRun& run) {
  GARUDA_TRY_ASSIGN(auto const join, limited_join(request));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  if (request.count) {
    GARUDA_TRY_ASSIGN(auto const counted, spill::count_join_of_files(*engine, join));
    return run.print_number(counted.rows, counted.stats, counted.plan);
  }
  GARUDA_TRY_ASSIGN(auto result, spill::join_files(*engine, join));
  return run.take(std::move(result));
}

Result<void> join(JoinRequest& request, FileRun& run) {
  GARUDA_TRY(settle_counted_columns(request));
  if (request.options.memory_limit_bytes != 0) return join_within_limit(request, run);
  GARUDA_TRY_ASSIGN(auto const inputs, run.read([&] { return read_inputs(request); }));
  GARUDA_TRY_ASSIGN(auto const engine, run.engine());
  if (request.count) {
    GARUDA_TRY_ASSIGN(auto const counted,
                      engine->join_count(inputs.left.view(), inputs.right.view(), request.spec, request.options));
    return run.print_number(counted.rows, counted.stats, counted.plan);
  }
  GARUDA_TRY_ASSIGN(auto result, engine->join(inputs.left.view(), inputs.right.view(), request.spec, request.options));
  return run.take(std::move(result));
}

int run(JoinArguments const& arguments) {
  auto request = to_request(arguments);
  if (!request) return report(request.error());
  FileRun file_run(*request, request->options);
  return report(file_run.run([&] { return join(*request, file_run); }));
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
  command.callback([arguments, &context] { context.run = [arguments] { return run(*arguments); }; });
}

}  // namespace garuda::cli
