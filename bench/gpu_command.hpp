// The options of `garuda bench gpu`, and its tables.
#pragma once

#include <CLI/CLI.hpp>

#include <atomic>

#include "bench/bench_command.hpp"

namespace garuda::bench {

/// Adds the subcommand to `bench`, as add_bench_command does. `cancelled` may be null.
void add_gpu_command(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled);

}  // namespace garuda::bench
