// The garuda command: what a process sets up and how it ends. cli/command_line does what the command line says.
#include <cstdio>
#include <iostream>

#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/os/environment.hpp"
#include "core/os/process.hpp"

namespace {

/// Comes before the initialisers of all other objects, CLI11's among them, which allocate.
[[gnu::constructor(101)]] void handle_terminate_first() { garuda::cli::install_terminate_handler(); }

}  // namespace

int main(int argc, char** argv) {
  // Arrow's own allocators reserve address space by many MiB, and where there is none their failure is not returned.
  constexpr auto const* kPool = "ARROW_DEFAULT_MEMORY_POOL";
  if (!garuda::os::path_variable(kPool)) garuda::os::set_variable(kPool, "system");
  garuda::cli::install_signal_handlers();
  auto const occupied = garuda::cli::occupy_standard_streams();
  int const code = occupied ? garuda::cli::run_command_line(garuda::os::utf8_arguments(argc, argv))
                            : garuda::cli::report(occupied.error());
  // The work that libraries' threads are still at is not wanted any more, so nothing waits for them; and libraries that
  // memory or threads failed, even when they were loaded, crash in their destructors.
  std::cout.flush();
  std::fflush(nullptr);
  garuda::os::end_before_drivers(code);
}
