// `garuda help`: of a command, or of what has too many values for a command's own help.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal/terminal.hpp"
#include "operators/resolve/tuning_text.hpp"

namespace garuda::cli {
namespace {

Result<void> print_help(CLI::App const& app, std::string const& topic) {
  // Not app.help(), which is that of the command that was parsed: this one.
  if (topic.empty())
    return write_output(app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
  if (topic == "tuning") return write_output(resolve::tuning_table());
  auto const commands = app.get_subcommands([&](CLI::App const* command) { return command->get_name() == topic; });
  if (commands.empty())
    return fail(ErrorCode::usage, fmt::format("help is of a command (see --help) or of tuning: '{}'", topic));
  return write_output(commands.front()->help(app.get_name()));
}

}  // namespace

void add_help_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("help", "help of a command, or `garuda help tuning`: every option of --tuning");
  auto const topic = std::make_shared<std::string>();
  command.add_option("TOPIC", *topic, "a command, or tuning")->option_text(" ");
  command.callback(
      [topic, &app, &context] { context.run = [topic, &app] { return report(print_help(app, *topic)); }; });
}

}  // namespace garuda::cli
