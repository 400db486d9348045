// State that the subcommands share while the command line is parsed.
#pragma once

#include <functional>

namespace garuda::cli {

struct Context {
  /// Set by the subcommand that the command line names; runs it and returns the exit code.
  std::function<int()> run;
};

}  // namespace garuda::cli
