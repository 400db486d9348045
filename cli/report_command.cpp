// `garuda report`: what this machine does, as a page to look at, JSON to compare, and a line to paste.
#include "report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/os/environment.hpp"
#include "core/os/file.hpp"
#include "core/os/output_file.hpp"
#include "report/comparison.hpp"

namespace garuda::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string output = "garuda-report.html";
  bool quick = false;
  bool full = false;
  double seconds = 0;
  std::vector<std::string> paths;
  std::string device = "auto";
  bool quiet = false;
};

struct CompareArguments {
  std::vector<std::string> files;
  std::string output;
  std::optional<double> regression;
};

Result<report::ReportRequest> to_request(ReportArguments const& arguments) {
  report::ReportRequest request;
  if (arguments.quick) request.thoroughness = report::Thoroughness::quick;
  if (arguments.full) request.thoroughness = report::Thoroughness::full;
  request.seconds = arguments.seconds;
  for (auto const& name : arguments.paths) {
    GARUDA_TRY_ASSIGN(auto const path, parse_path(name));
    if (path == Path::automatic) return fail(ErrorCode::usage, "--path of a report names paths, not auto");
    request.paths.push_back(path);
  }
  if (arguments.device != "auto") request.device = arguments.device;
  request.control.cancelled = &interrupted();
  return request;
}

Result<fs::path> page_file(std::string const& output) {
  auto file = os::to_path(output);
  if (file.extension() != ".html") return fail(ErrorCode::usage, fmt::format("--output must end in .html: {}", output));
  return file;
}

/// Writes all of `text` and gives the file its name.
Result<void> write_and_commit(os::OutputFile& file, std::string_view text) {
  GARUDA_TRY_ASSIGN(int const descriptor, file.open());
  int error_number = os::write_all(descriptor, text);
  if (int const closing = os::close_file(descriptor); error_number == 0) error_number = closing;
  if (error_number != 0)
    return fail(ErrorCode::output,
                fmt::format("cannot write {}: {}", file.path().string(), os::system_message(error_number)));
  return file.commit();
}

Result<void> make(ReportArguments const& arguments) {
  GARUDA_TRY_ASSIGN(auto request, to_request(arguments));
  GARUDA_TRY_ASSIGN(auto const html, page_file(arguments.output));
  GARUDA_TRY_ASSIGN(auto page, os::OutputFile::create(html));
  TemporaryFileGuard const guard(page.temporary_path());
  report::Json made;
  {
    ProgressBar bar(!arguments.quiet && error_is_terminal());
    request.control.on_progress = [&bar](Progress const& progress) { bar.update(progress); };
    GARUDA_TRY_ASSIGN(made, report::make_report(request));
  }
  auto const json = fs::path(html).replace_extension(".json");
  GARUDA_TRY_ASSIGN(auto data, os::OutputFile::create(json));
  GARUDA_TRY(write_and_commit(data, made.dump(1, ' ', false, report::Json::error_handler_t::replace) + '\n'));
  GARUDA_TRY(write_and_commit(page, report::to_page(made)));
  GARUDA_TRY(write_output(report::to_markdown(made) + '\n'));
  if (!arguments.quiet) {
    for (auto const& reason : report::left_out_everywhere(made))
      write_error(fmt::format("garuda: left out: {}\n", reason));
    write_error(fmt::format("garuda: written: {}, {}; nothing was sent\n", html.string(), json.string()));
  }
  if (auto const wrong = report::wrong_results(made); !wrong.empty())
    return fail(ErrorCode::device_failure, fmt::format("{} wrong results, the first: {}", wrong.size(), wrong.front()));
  return {};
}

/// Differences that fail a build; empty where it was not asked.
Result<std::vector<std::string>> compare(CompareArguments const& arguments) {
  std::vector<report::NamedReport> reports;
  for (auto const& file : arguments.files) {
    GARUDA_TRY_ASSIGN(auto one, report::read_report(file));
    reports.push_back(std::move(one));
  }
  GARUDA_TRY_ASSIGN(auto const comparison, report::compare(reports));
  if (!arguments.output.empty()) {
    GARUDA_TRY_ASSIGN(auto const html, page_file(arguments.output));
    GARUDA_TRY_ASSIGN(auto page, os::OutputFile::create(html));
    TemporaryFileGuard const guard(page.temporary_path());
    GARUDA_TRY(write_and_commit(page, report::to_page(comparison, reports)));
  }
  GARUDA_TRY(write_output(report::to_markdown(comparison)));
  return arguments.regression ? report::regressions(comparison, *arguments.regression) : std::vector<std::string>();
}

int run_compare(CompareArguments const& arguments) {
  auto const found = compare(arguments);
  if (!found) return report(found.error());
  for (auto const& one : *found) write_error(fmt::format("garuda: {}\n", one));
  return found->empty() ? kExitDone : kExitRegression;
}

CLI::App& add_compare(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("compare", "reports side by side: devices, drivers, versions");
  auto const arguments = std::make_shared<CompareArguments>();
  command.add_option("REPORTS", arguments->files, "JSON files of `garuda report`, the one to compare with first")
      ->required()
      ->expected(2, 64)
      ->option_text(" ");
  command.add_option("-o,--output", arguments->output, "a page, .html")->type_name("FILE");
  command
      .add_option("--regression", arguments->regression,
                  "exit with 7 where a later report is slower than the first by more, beyond noise, or has other bits")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("PERCENT");
  command.footer(
      "Prints what changed as Markdown. Beyond noise is a difference of medians of more than 4.5 times its error,\n"
      "which the visits of all cells tell, a tenth, and 0.1 ms, where the least times differ, too, and all visits of\n"
      "one are slower than those of the other.\n"
      "Examples:\n  garuda report compare laptop.json h200.json -o both.html\n"
      "  garuda report compare before.json after.json --regression 15");
  command.callback([arguments, &context] { context.run = [arguments] { return run_compare(*arguments); }; });
  return command;
}

}  // namespace

void add_report_command(CLI::App& app, Context& context) {
  constexpr double kLeastSeconds = 1;
  constexpr double kMostSeconds = 86'400;
  auto& command = *app.add_subcommand("report", "measure this machine: a page, JSON and a line to paste");
  auto const arguments = std::make_shared<ReportArguments>();
  command
      .add_option("-o,--output", arguments->output,
                  "the page; the JSON beside it has the same name (default: garuda-report.html)")
      ->type_name("FILE.html");
  auto* const quick = command.add_flag("--quick", arguments->quick, "less than a minute, up to 2^24 rows");
  command.add_flag("--full", arguments->full, "half an hour at most, up to 2^28 rows (default: five minutes, 2^26)")
      ->excludes(quick);
  command.add_option("--seconds", arguments->seconds, "time that all may take; what does not fit is left out")
      ->check(CLI::Range(kLeastSeconds, kMostSeconds))
      ->type_name("S");
  command.add_option("--path", arguments->paths, "only these, by comma: cpu, graphics, compute, cuda")
      ->delimiter(',')
      ->type_name("PATHS");
  command.add_option("--device", arguments->device, "only this one: an index or part of a name of `garuda devices`")
      ->type_name("DEVICE");
  command.add_flag("--quiet", arguments->quiet, "neither progress nor diagnostics");
  command.footer(
      "Measures the same joins and group-bys on every machine, each result compared with a reference; see\n"
      "docs/report.md. Nothing is sent, and nothing in the files names the machine, its user or its folders.\n"
      "Examples:\n  garuda report --quick\n  garuda report --device 0 -o radeon.html\n"
      "  garuda report compare before.json after.json");
  auto const& comparing = add_compare(command, context);
  command.callback([arguments, &comparing, &context] {
    if (!comparing.parsed()) context.run = [arguments] { return report(make(*arguments)); };
  });
}

}  // namespace garuda::cli
