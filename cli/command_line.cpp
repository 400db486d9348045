#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "core/shortage.hpp"
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

/// `garuda help`: of a command, or of what has too many values for a command's own help.
void add_help_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("help", "help of a command, or `garuda help tuning`: every option of --tuning");
  auto const topic = std::make_shared<std::string>();
  command.add_option("TOPIC", *topic, "a command, or tuning")->option_text(" ");
  command.callback(
      [topic, &app, &context] { context.run = [topic, &app] { return report(print_help(app, *topic)); }; });
}

int parse_and_run(std::vector<std::string> arguments) {
  Context context;
  CLI::App app("Joins and groups tables on any GPU that has a Vulkan driver, with the same result on every one.",
               "garuda");
  app.set_version_flag("--version", "garuda " GARUDA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  garuda devices\n"
      "  garuda join orders.parquet lineitem.parquet --on o_orderkey=l_orderkey -o joined.parquet\n"
      "  garuda join a.csv b.csv --on id --count\n"
      "  garuda group-by joined.parquet --keys o_custkey --agg count,sum:l_quantity\n"
      "  garuda run plan.substrait --tables tpch\n"
      "  garuda batch commands.txt\n"
      "Exit codes: 0 done, 2 wrong usage, 3 bad input, 4 no such device or path, 5 out of memory, over a limit or\n"
      "output not writable, 6 device failure, 7 a regression between reports, 130 interrupted.");
  add_devices_command(app, context);
  add_calibrate_command(app, context);
  add_join_command(app, context);
  add_group_by_command(app, context);
  add_run_command(app, context);
  add_explain_command(app, context);
  add_batch_command(app, context);
  add_bench_command(app, context);
  add_help_command(app, context);
  add_report_command(app, context);
  try {
    // CLI11 takes them from the end, without the program's name.
    std::reverse(arguments.begin(), arguments.end());
    arguments.pop_back();
    app.parse(std::move(arguments));
  } catch (CLI::Success const& help_or_version) {
    app.exit(help_or_version);
    if (std::cout.flush()) return kExitDone;
    auto const is_open = check_output_is_open();
    return report(is_open ? Error(ErrorCode::output, "cannot write to standard output") : is_open.error());
  } catch (CLI::RequiredError const& error) {
    auto const unknown = app.remaining();
    auto sentence = unknown.empty() ? fmt::format("{} (see --help)", error.what())
                                    : fmt::format("unknown command (see --help): {}", unknown.front());
    return report(Error(ErrorCode::usage, std::move(sentence)));
  } catch (CLI::ParseError const& error) {
    return report(Error(ErrorCode::usage, fmt::format("{} (see --help)", error.what())));
  }
  return context.run();
}

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// The word that a line begins with; takes it off the line.
class WordReader {
 public:
  explicit WordReader(std::string_view line) : line_(line) {}

  Result<std::string> read() {
    while (!line_.empty() && kBlanks.find(line_.front()) == std::string_view::npos) {
      auto const letter = take();
      if (letter == '\'') {
        GARUDA_TRY(read_quoted(letter, ""));
      } else if (letter == '"') {
        GARUDA_TRY(read_quoted(letter, "\"\\"));
      } else if (letter != '\\') {
        word_ += letter;
      } else if (line_.empty()) {
        return fail(ErrorCode::usage, "a backslash ends the line");
      } else {
        word_ += take();
      }
    }
    return std::move(word_);
  }

  std::string_view rest() const noexcept { return line_; }

 private:
  char take() {
    auto const letter = line_.front();
    line_.remove_prefix(1);
    return letter;
  }

  /// `escaped`: what a backslash may stand before.
  Result<void> read_quoted(char quote, std::string_view escaped) {
    while (!line_.empty()) {
      auto letter = take();
      if (letter == quote) return {};
      if (letter == '\\' && !line_.empty() && escaped.find(line_.front()) != std::string_view::npos) letter = take();
      word_ += letter;
    }
    return fail(ErrorCode::usage, std::string("a quote stays open: ") + quote);
  }

  std::string_view line_;
  std::string word_;
};

}  // namespace

Result<std::vector<std::string>> command_words(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    auto const first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos || line[first] == '#') return words;
    WordReader reader(line.substr(first));
    GARUDA_TRY_ASSIGN(auto word, reader.read());
    words.push_back(std::move(word));
    line = reader.rest();
  }
}

int run_command_line(std::vector<std::string> arguments) {
  forget_reported();
  try {
    return parse_and_run(std::move(arguments));
  } catch (std::exception const& bug) {
    if (auto const shortage = current_shortage()) return report(*shortage);
    write_error(fmt::format("garuda: internal error, please report it: {}\n", bug.what()));
    return kExitInternalError;
  }
}

}  // namespace garuda::cli
