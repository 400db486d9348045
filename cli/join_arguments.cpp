#include "cli/join_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/size.hpp"
#include "io/file_format.hpp"

namespace garuda::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    auto const end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

tl::unexpected<Error> later(std::string_view what) {
  return fail(ErrorCode::usage, fmt::format("{} in this version", what));
}

Result<std::pair<std::string, std::string>> parse_on(std::string_view text) {
  auto const pairs = split(text, ',');
  if (pairs.size() > 1) return later("--on takes one pair of key columns only");
  auto const names = split(pairs.front(), '=');
  if (names.size() > 2 || names.front().empty() || names.back().empty()) {
    return fail(ErrorCode::usage, fmt::format("--on wants LEFT=RIGHT, or one name that both sides have: '{}'", text));
  }
  return std::pair(std::string(names.front()), std::string(names.back()));
}

Result<JoinKind> parse_how(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kLater = {"left", "right", "full", "semi", "anti"};
  if (text == "inner") return JoinKind::inner;
  if (std::find(kLater.begin(), kLater.end(), text) != kLater.end()) {
    return later(fmt::format("--how {} is not supported, only inner is,", text));
  }
  return fail(ErrorCode::usage, fmt::format("--how wants inner, left, right, full, semi or anti: '{}'", text));
}

Result<ColumnRef> parse_column(std::string_view text) {
  auto const dot = text.find('.');
  auto const side = text.substr(0, dot);
  if (dot == std::string_view::npos || dot + 1 == text.size() || (side != "left" && side != "right")) {
    return fail(ErrorCode::usage,
                fmt::format("--columns wants left.NAME or right.NAME, separated by commas: '{}'", text));
  }
  return ColumnRef{side == "left" ? Side::left : Side::right, std::string(text.substr(dot + 1))};
}

Result<std::vector<ColumnRef>> parse_columns(std::string_view text) {
  std::vector<ColumnRef> columns;
  for (auto const part : split(text, ',')) {
    GARUDA_TRY_ASSIGN(auto column, parse_column(part));
    columns.push_back(std::move(column));
  }
  return columns;
}

Result<StatsFormat> parse_stats(std::string_view text) {
  if (text.empty()) return StatsFormat::none;
  if (text == "true") return StatsFormat::table;  // what a flag without a value holds
  if (text == "json") return StatsFormat::json;
  return fail(ErrorCode::usage, fmt::format("--stats wants json, or nothing: '{}'", text));
}

Result<JoinSpec> to_spec(JoinArguments const& arguments) {
  if (!arguments.where.empty()) return later("--where is not supported");
  if (arguments.nulls_equal) return later("--nulls-equal is not supported");
  JoinSpec spec;
  GARUDA_TRY_ASSIGN(spec.kind, parse_how(arguments.how));
  GARUDA_TRY_ASSIGN(auto on, parse_on(arguments.on));
  spec.on.push_back(std::move(on));
  if (!arguments.columns.empty()) {
    GARUDA_TRY_ASSIGN(spec.columns, parse_columns(arguments.columns));
  }
  spec.ordered = arguments.ordered;
  return spec;
}

Result<JoinOptions> to_options(JoinArguments const& arguments) {
  if (arguments.allow_cuda) return later("--allow-cuda is not supported");
  JoinOptions options;
  GARUDA_TRY_ASSIGN(options.path, parse_path(arguments.path));
  if (options.path == Path::compute || options.path == Path::cuda) {
    return fail(ErrorCode::no_device,
                fmt::format("this build of garuda has no {} path, only graphics and cpu", to_string(options.path)));
  }
  if (arguments.device != "auto") {
    if (options.path == Path::cpu) return fail(ErrorCode::usage, "--device says nothing with --path cpu");
    options.device = arguments.device;
  }
  GARUDA_TRY_ASSIGN(options.tuning, parse_join_tuning(arguments.tuning));
  if (!arguments.memory_limit.empty()) {
    GARUDA_TRY_ASSIGN(options.memory_limit_bytes, parse_size(arguments.memory_limit));
  }
  if (!arguments.device_memory_limit.empty()) {
    GARUDA_TRY_ASSIGN(options.device_memory_limit_bytes, parse_size(arguments.device_memory_limit));
  }
  options.threads = arguments.threads;
  return options;
}

void add_run_options(CLI::App& app, JoinArguments& arguments) {
  constexpr auto kMostThreads = 4096U;
  app.add_option("--path", arguments.path, "what computes: auto, graphics, compute, cuda or cpu")->type_name("PATH");
  app.add_flag("--allow-cuda", arguments.allow_cuda, "let auto choose CUDA (comes later)");
  app.add_option("--device", arguments.device, "auto, an index or part of a name of `garuda devices`")
      ->type_name("DEVICE");
  app.add_option("--tuning", arguments.tuning,
                 "how it is computed, comma-separated, such as address=hash|direct,storage=stack|runs,image=4096")
      ->type_name("KEY=VALUE,…");
  app.add_option("--memory-limit", arguments.memory_limit, "host memory beside the inputs: 256MiB, 1GB, 2e9")
      ->type_name("SIZE");
  app.add_option("--device-memory-limit", arguments.device_memory_limit, "device memory")->type_name("SIZE");
  app.add_option("--threads", arguments.threads, "threads of the CPU (default: all)")
      ->check(CLI::Range(1U, kMostThreads))
      ->option_text("N");
  // A flag, so that it never takes the argument that follows it for its value.
  app.add_flag("--stats", arguments.stats,
               "statistics to standard error: a table, or with --stats=json one JSON object as the last line");
  app.add_flag("--quiet", arguments.quiet, "neither progress nor diagnostics");
}

}  // namespace

void add_join_options(CLI::App& app, JoinArguments& arguments) {
  app.add_option("LEFT", arguments.left, "left table: .parquet, .arrow, .feather or .csv")
      ->required()
      ->option_text(" ");
  app.add_option("RIGHT", arguments.right, "right table")->required()->option_text(" ");
  app.add_option("--on", arguments.on, "key columns that must be equal; one name when both sides call it so")
      ->required()
      ->type_name("LEFT=RIGHT");
  app.add_option("--how", arguments.how, "inner; later left, right, full, semi, anti")->type_name("KIND");
  app.add_option("--columns", arguments.columns,
                 "columns of the result in order (default: all left, then all right without the key)")
      ->type_name("left.A,right.B,…");
  app.add_flag("--nulls-equal", arguments.nulls_equal, "let null keys match each other (comes later)");
  app.add_option("--where", arguments.where, "condition on joined rows (comes later)")->type_name("CONDITION");
  app.add_flag("--count", arguments.count, "print the number of rows only; no row is made");
  app.add_flag("--ordered", arguments.ordered, "rows sorted by left row, then right row");
  app.add_option("-o,--output", arguments.output, "result file: .parquet, .arrow, .feather or .csv")->type_name("FILE");
  add_run_options(app, arguments);
}

Result<JoinRequest> to_request(JoinArguments const& arguments) {
  JoinRequest request;
  request.left = arguments.left;
  request.right = arguments.right;
  GARUDA_TRY_ASSIGN(request.spec, to_spec(arguments));
  GARUDA_TRY_ASSIGN(request.options, to_options(arguments));
  GARUDA_TRY_ASSIGN(request.stats, parse_stats(arguments.stats));
  request.count = arguments.count;
  request.quiet = arguments.quiet;
  for (auto const& input : {request.left, request.right}) GARUDA_TRY(io::format_of(input));
  if (!arguments.output.empty()) {
    if (arguments.count)
      return fail(ErrorCode::usage, "--count makes no rows, so there is nothing to write to --output");
    GARUDA_TRY(io::format_of(arguments.output));
    request.output = arguments.output;
  }
  return request;
}

}  // namespace garuda::cli
