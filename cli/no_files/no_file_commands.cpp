// In place of the commands on files, in a build without files (GARUDA_FILES=OFF): what they would need is said.
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_commands.hpp"

namespace garuda::cli {
namespace {

void add_command(CLI::App& app, Context& context, char const* name, char const* does) {
  auto& command = *app.add_subcommand(name, std::string(does) + " (not in this build, which reads no files)");
  command.prefix_command();  // whatever follows
  command.callback([&context, name] {
    context.run = [name] {
      return report(Error(ErrorCode::usage, std::string(name) +
                                                " takes files, which this garuda was built without (GARUDA_FILES=OFF); "
                                                "bench and report work on generated tables"));
    };
  });
}

}  // namespace

void add_join_command(CLI::App& app, Context& context) {
  add_command(app, context, "join", "join the tables of two files");
}

void add_group_by_command(CLI::App& app, Context& context) {
  add_command(app, context, "group-by", "group the table of a file");
}

void add_run_command(CLI::App& app, Context& context) {
  add_command(app, context, "run", "run a plan of Substrait over files");
}

void add_explain_command(CLI::App& app, Context& context) {
  add_command(app, context, "explain", "show the plan of a join, group-by or query of files");
}

void add_batch_command(CLI::App& app, Context& context) {
  add_command(app, context, "batch", "run commands, one a line, in one process");
}

Result<FileCommands const*> load_file_commands() {
  return fail(ErrorCode::usage,
              "files are neither read nor written by this garuda, which was built without (GARUDA_FILES=OFF)");
}

}  // namespace garuda::cli
