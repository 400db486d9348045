// The options of `garuda bench primitives`.
#pragma once

#include <CLI/CLI.hpp>

#include <atomic>
#include <functional>

namespace garuda::bench {

/// Adds the subcommand to `bench`; choosing it sets `selected` to what runs it and returns the exit code.
/// `cancelled` may be null.
void add_primitives_command(CLI::App& bench, std::function<int()>& selected, std::atomic<bool> const* cancelled);

}  // namespace garuda::bench
