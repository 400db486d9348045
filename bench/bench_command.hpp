// `garuda bench`: its subcommands, options and exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>

#include "garuda/error.hpp"

namespace garuda::bench {

/// Adds the subcommand `bench` with `join` and `points` to `app`. Parsing runs nothing: when the parse chose one of
/// them, `selected` is set to what runs it. `selected` prints results to standard output, failures as one sentence to
/// standard error, blocks until done and returns an exit code: 0 done, 2 wrong usage, 4 no such device or path, 5 out
/// of memory or over a limit, 6 device failure or a result that differs from the reference, 130 cancelled. `selected`
/// must outlive `app`'s parse; it owns the parsed options. `cancelled`, when given, outlives its run and is looked at
/// within joins and between draws.
void add_bench_command(CLI::App& app, std::function<int()>& selected, std::atomic<bool> const* cancelled = nullptr);

/// Ends a benchmark: writes a failure to standard error as one sentence, and returns the exit code. A benchmark whose
/// standard output is lost has failed, too.
int report(Result<void> const& result);

}  // namespace garuda::bench
