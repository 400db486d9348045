// The garuda command: picks the subcommand, and turns what escapes it into one sentence and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "cli/terminal/terminal.hpp"
#include "core/os/environment.hpp"
#include "core/os/process.hpp"
#include "core/shortage.hpp"

namespace {

using garuda::Error;
using garuda::ErrorCode;

int parse_and_run(std::vector<std::string> arguments) {
  garuda::cli::Context context;
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
      "Exit codes: 0 done, 2 wrong usage, 3 bad input, 4 no such device or path, 5 out of memory, over a limit or\n"
      "output not writable, 6 device failure, 7 a regression between reports, 130 interrupted.");
  garuda::cli::add_devices_command(app, context);
  garuda::cli::add_calibrate_command(app, context);
  garuda::cli::add_join_command(app, context);
  garuda::cli::add_group_by_command(app, context);
  garuda::cli::add_explain_command(app, context);
  garuda::cli::add_bench_command(app, context);
  garuda::cli::add_help_command(app, context);
  garuda::cli::add_report_command(app, context);
  try {
    // CLI11 takes them from the end, without the program's name.
    std::reverse(arguments.begin(), arguments.end());
    arguments.pop_back();
    app.parse(std::move(arguments));
  } catch (CLI::Success const& help_or_version) {
    app.exit(help_or_version);
    if (std::cout.flush()) return garuda::cli::kExitDone;
    auto const is_open = garuda::cli::check_output_is_open();
    return garuda::cli::report(is_open ? Error(ErrorCode::output, "cannot write to standard output") : is_open.error());
  } catch (CLI::RequiredError const& error) {
    auto const unknown = app.remaining();
    auto sentence = unknown.empty() ? fmt::format("{} (see --help)", error.what())
                                    : fmt::format("unknown command (see --help): {}", unknown.front());
    return garuda::cli::report(Error(ErrorCode::usage, std::move(sentence)));
  } catch (CLI::ParseError const& error) {
    return garuda::cli::report(Error(ErrorCode::usage, fmt::format("{} (see --help)", error.what())));
  }
  return context.run();
}

int exit_code_of(std::vector<std::string> arguments) {
  if (auto const occupied = garuda::cli::occupy_standard_streams(); !occupied)
    return garuda::cli::report(occupied.error());
  try {
    return parse_and_run(std::move(arguments));
  } catch (std::exception const& bug) {
    if (auto const shortage = garuda::current_shortage()) return garuda::cli::report(*shortage);
    garuda::cli::write_error(fmt::format("garuda: internal error, please report it: {}\n", bug.what()));
    return garuda::cli::kExitInternalError;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Arrow's own allocators reserve address space by many MiB, and where there is none their failure is not returned.
  constexpr auto const* kPool = "ARROW_DEFAULT_MEMORY_POOL";
  if (!garuda::os::path_variable(kPool)) garuda::os::set_variable(kPool, "system");
  garuda::cli::install_signal_handlers();
  garuda::cli::install_terminate_handler();
  int const code = exit_code_of(garuda::os::utf8_arguments(argc, argv));
  // What the libraries' threads are still at is not wanted any more, so nothing waits for them; and libraries that
  // memory or threads failed, even when they were loaded, crash in their destructors.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(code);
}
