// A command line: picks the subcommand, and turns what escapes it into one sentence and an exit code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::cli {

/// Cuts a line at blanks, as a shell does: what single quotes hold stays as it is, double quotes hold blanks, in them a
/// backslash makes a quote or a backslash its text, and elsewhere any character. A word that begins with # ends the
/// line. Nothing else means anything. Errors: usage (an open quote, a backslash at the end).
Result<std::vector<std::string>> command_words(std::string_view line);

/// Runs what `arguments` say, the program's name first, and returns the exit code.
int run_command_line(std::vector<std::string> arguments);

}  // namespace garuda::cli
