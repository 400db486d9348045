// `garuda batch`: commands, one a line, in one process.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/run_start.hpp"
#include "cli/terminal.hpp"
#include "core/kept_memory.hpp"
#include "core/os/environment.hpp"

namespace garuda::cli {
namespace {

struct BatchArguments {
  std::string file;
  bool keep_going = false;
};

/// Runs the commands of a file or of standard input.
class Batch {
 public:
  explicit Batch(BatchArguments const& arguments) : arguments_(arguments) {}

  int run() {
    if (arguments_.file.empty() || arguments_.file == "-") return run_lines(std::cin, "standard input");
    std::ifstream file(os::to_path(arguments_.file));
    if (!file) return report(Error(ErrorCode::invalid_input, "cannot read " + arguments_.file));
    return run_lines(file, arguments_.file);
  }

 private:
  int run_lines(std::istream& lines, std::string const& name) {
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      auto const code = run_line(line);
      if (interrupted()) return exit_code(ErrorCode::cancelled);
      if (code == kExitDone) continue;
      write_error(fmt::format("garuda: line {} of {} ended with status {}\n", number, name, code));
      if (first_failure_ == kExitDone) first_failure_ = code;
      if (!arguments_.keep_going) return code;
    }
    if (lines.bad()) return report(Error(ErrorCode::invalid_input, "cannot read " + name));
    return first_failure_;
  }

  int run_line(std::string const& line) {
    auto words = command_words(line);
    if (!words) return report(words.error());
    if (words->empty()) return kExitDone;
    if (words->front() == "batch") return report(Error(ErrorCode::usage, "a batch runs no batch"));
    words->insert(words->begin(), "garuda");
    auto const code = run_command_line(*std::move(words));
    std::cout.flush();  // whoever wrote the line may wait for what it prints
    return code;
  }

  BatchArguments const& arguments_;
  int first_failure_ = kExitDone;
};

}  // namespace

void add_batch_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("batch", "run commands, one a line, in one process");
  auto const arguments = std::make_shared<BatchArguments>();
  command.add_option("file", arguments->file, "the commands (default, and -: standard input)");
  command.add_flag("--keep-going", arguments->keep_going,
                   "run the commands behind one that failed, too; the exit code is that of the first");
  command.footer(
      "A line is what follows `garuda` on a command line: words, cut at blanks, quoted as for a shell; nothing is\n"
      "expanded. Empty lines, and what follows a word that begins with #, are passed over. A line is read once the "
      "one\n"
      "before has ended, so a program may write one, read what --stats=json prints, and write the next.\n"
      "Devices stay open, and memory is used again, from one command to the next.\n"
      "Example, two lines of a file:\n"
      "  join orders.parquet lineitem.parquet --on o_orderkey=l_orderkey -o joined.parquet\n"
      "  group-by joined.parquet --keys o_custkey --agg 'sum:l_quantity=items' -o items.parquet");
  command.callback([arguments, &context] {
    context.run = [arguments] {
      KeptMemory::Tenancy const keeps_memory;
      SharedEngine const keeps_engine;
      return Batch(*arguments).run();
    };
  });
}

}  // namespace garuda::cli
