// `garuda bench`: its subcommands and options.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <functional>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

/// Takes what runs the benchmark that a command line names. That owns its options, prints results to standard output
/// and blocks until done. Errors: those of the benchmark; output; device_failure also for a wrong result.
using Select = std::function<void(std::function<Result<void>()>)>;

/// Writes a table to an Arrow IPC file of as many batches as it has, so that others are measured on the same data;
/// replaces the file. Errors: output; usage, where the program writes no files.
using WriteTable = std::function<Result<void>(std::filesystem::path const& file, Table const& table)>;

/// Adds the subcommand `bench` to `app`. Parsing runs nothing: it calls a copy of `select`. `write_table` is what
/// --export calls. `cancelled`, when given, outlives the run and is looked at within joins and group-bys and between
/// draws.
void add_bench_command(CLI::App& app, Select const& select, WriteTable const& write_table,
                       std::atomic<bool> const* cancelled = nullptr);

}  // namespace garuda::bench
