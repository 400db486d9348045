// The subcommands: each function adds one, with its options, to the command line.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace garuda::cli {

struct Context {
  /// Set by the subcommand that the command line names; runs it and returns the exit code.
  std::function<int()> run;
};

/// Parsing runs nothing: it sets `context.run` for the subcommand that was named. `context` must outlive the parse.
void add_devices_command(CLI::App& app, Context& context);
void add_calibrate_command(CLI::App& app, Context& context);
void add_join_command(CLI::App& app, Context& context);
void add_group_by_command(CLI::App& app, Context& context);
void add_run_command(CLI::App& app, Context& context);
void add_explain_command(CLI::App& app, Context& context);
void add_bench_command(CLI::App& app, Context& context);
void add_batch_command(CLI::App& app, Context& context);
/// `app` must outlive what it sets to run, too.
void add_report_command(CLI::App& app, Context& context);

}  // namespace garuda::cli
