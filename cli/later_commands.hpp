// Subcommands that are known and not there yet.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/context.hpp"

namespace garuda::cli {

/// Adds a subcommand that takes any arguments and refuses them as wrong usage.
void add_later_command(CLI::App& app, Context& context, std::string const& name);

}  // namespace garuda::cli
