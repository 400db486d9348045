#include "cli/later_commands.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

namespace garuda::cli {

void add_later_command(CLI::App& app, Context& context, std::string const& name, std::string const& description) {
  auto& command = *app.add_subcommand(name, description + " (comes later)");
  command.prefix_command();
  command.callback([name, &context] {
    context.run = [name] {
      return report(Error(ErrorCode::usage, fmt::format("{} is not supported in this version", name)));
    };
  });
}

void add_later_commands(CLI::App& app, Context& context) {
  add_later_command(app, context, "report", "compare devices and paths");
}

}  // namespace garuda::cli
