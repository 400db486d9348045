#include "cli/later_commands.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

namespace garuda::cli {

void add_later_command(CLI::App& app, Context& context, std::string const& name) {
  auto& command = *app.add_subcommand(name)->group("");
  command.prefix_command();
  command.callback([name, &context] {
    context.run = [name] {
      return report(Error(ErrorCode::usage, fmt::format("{} is not supported in this version", name)));
    };
  });
}

void add_later_commands(CLI::App& app, Context& context) { add_later_command(app, context, "report"); }

}  // namespace garuda::cli
