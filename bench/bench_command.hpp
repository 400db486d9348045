// `garuda bench`: its subcommands and options.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>

#include "garuda/error.hpp"

namespace garuda::bench {

/// Takes what runs the benchmark that a command line names. That owns its options, prints results to standard output
/// and blocks until done. Errors: those of the benchmark; output; device_failure also for a wrong result.
using Select = std::function<void(std::function<Result<void>()>)>;

/// Adds the subcommand `bench` to `app`. Parsing runs nothing: it calls a copy of `select`. `cancelled`, when given,
/// outlives the run and is looked at within joins and group-bys and between draws.
void add_bench_command(CLI::App& app, Select const& select, std::atomic<bool> const* cancelled = nullptr);

}  // namespace garuda::bench
