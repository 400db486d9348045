// A command line: picks the subcommand, and turns what escapes it into one sentence and an exit code.
#pragma once

#include <string>
#include <vector>

namespace garuda::cli {

/// Runs what `arguments` say, the program's name first, and returns the exit code.
int run_command_line(std::vector<std::string> arguments);

}  // namespace garuda::cli
