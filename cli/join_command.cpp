// `garuda join` on the command line, and how it begins. files/join_run does the rest.
#include <memory>

#include "cli/arguments/join_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_commands.hpp"

namespace garuda::cli {

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

}  // namespace garuda::cli
