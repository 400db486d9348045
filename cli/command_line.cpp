#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "cli/terminal/terminal.hpp"
#include "core/shortage.hpp"

namespace garuda::cli {
namespace {

int parse_and_run(std::vector<std::string> arguments) {
  Context context;
  CLI::App app("Joins and groups tables on any GPU that has a Vulkan driver, with the same result on every one.",
               "garuda");
  app.set_version_flag("--version", "garuda " GARUDA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  garuda devices\n"
      "  garuda join orders.parquet lineitem.parquet --on o_orderkey=l_orderkey -o joined.parquet\n"
      "  garuda join a.csv b.csv --on id --count\n"
      "  garuda group-by joined.parquet --keys o_custkey --agg count,sum:l_quantity\n"
      "  garuda batch commands.txt\n"
      "Exit codes: 0 done, 2 wrong usage, 3 bad input, 4 no such device or path, 5 out of memory, over a limit or\n"
      "output not writable, 6 device failure, 7 a regression between reports, 130 interrupted.");
  add_devices_command(app, context);
  add_calibrate_command(app, context);
  add_join_command(app, context);
  add_group_by_command(app, context);
  add_explain_command(app, context);
  add_batch_command(app, context);
  add_bench_command(app, context);
  add_help_command(app, context);
  add_report_command(app, context);
  try {
    // CLI11 takes them from the end, without the program's name.
    std::reverse(arguments.begin(), arguments.end());
    arguments.pop_back();
    app.parse(std::move(arguments));
  } catch (CLI::Success const& help_or_version) {
    app.exit(help_or_version);
    if (std::cout.flush()) return kExitDone;
    auto const is_open = check_output_is_open();
    return report(is_open ? Error(ErrorCode::output, "cannot write to standard output") : is_open.error());
  } catch (CLI::RequiredError const& error) {
    auto const unknown = app.remaining();
    auto sentence = unknown.empty() ? fmt::format("{} (see --help)", error.what())
                                    : fmt::format("unknown command (see --help): {}", unknown.front());
    return report(Error(ErrorCode::usage, std::move(sentence)));
  } catch (CLI::ParseError const& error) {
    return report(Error(ErrorCode::usage, fmt::format("{} (see --help)", error.what())));
  }
  return context.run();
}

}  // namespace

int run_command_line(std::vector<std::string> arguments) {
  forget_reported();
  try {
    return parse_and_run(std::move(arguments));
  } catch (std::exception const& bug) {
    if (auto const shortage = current_shortage()) return report(*shortage);
    write_error(fmt::format("garuda: internal error, please report it: {}\n", bug.what()));
    return kExitInternalError;
  }
}

}  // namespace garuda::cli
