#include "cli/arguments/run_arguments.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "io/file_format.hpp"

namespace garuda::cli {
namespace {

Result<StatsFormat> parse_stats(std::string_view text) {
  if (text.empty()) return StatsFormat::none;
  if (text == "true") return StatsFormat::table;  // what a flag without a value holds
  if (text == "json") return StatsFormat::json;
  return fail(ErrorCode::usage, fmt::format("--stats wants json, or nothing: '{}'", text));
}

/// 0, which stands for no limit of the caller's, when `text` is empty.
Result<std::uint64_t> parse_limit(std::string_view option, std::string_view text) {
  if (text.empty()) return 0;
  auto size = parse_size(text);
  if (!size) return tl::unexpected(std::move(size).error().wrap(std::string(option)));
  return size;
}

Result<void> set_output_options(RunArguments const& arguments, RunRequest& request) {
  bool const is_of_parquet = arguments.row_group_rows != 0 || arguments.plain_integers;
  if (arguments.compression.empty() && !is_of_parquet && !arguments.sync) return {};
  if (!request.output)
    return fail(ErrorCode::usage,
                "--compression, --row-group-rows, --plain-integers and --sync say nothing without --output");
  request.sync = arguments.sync;
  GARUDA_TRY_ASSIGN(auto const format, io::output_format_of(*request.output));
  if (!arguments.compression.empty()) {
    GARUDA_TRY_ASSIGN(request.compression, io::parse_compression(arguments.compression));
    GARUDA_TRY(io::compression_for(format, request.compression));
  }
  if (is_of_parquet && format != io::FileFormat::parquet)
    return fail(ErrorCode::usage, "--row-group-rows and --plain-integers want a .parquet --output");
  if (arguments.row_group_rows != 0) request.row_group_rows = arguments.row_group_rows;
  request.plain_integers = arguments.plain_integers;
  return {};
}

std::optional<double> unit_bytes(std::string_view name) {
  constexpr double kKilo = 1000;
  constexpr double kKibi = 1024;
  static constexpr std::string_view kPrefixes = "kmgt";
  std::string unit;
  for (char const c : name) unit += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (unit.empty() || unit == "b") return 1;
  auto const power = kPrefixes.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  auto const rest = std::string_view(unit).substr(1);
  if (rest == "b") return std::pow(kKilo, power + 1);
  if (rest.empty() || rest == "ib") return std::pow(kKibi, power + 1);
  return std::nullopt;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr double kMost = 9.2e18;  // below 2^63, so that sums of two fit 64 bits
  double number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto const unit = unit_bytes(text.substr(static_cast<std::size_t>(end - text.data())));
  double const bytes = std::floor(number * unit.value_or(0));
  if (error != std::errc() || !unit || !std::isfinite(bytes) || bytes < 1 || bytes > kMost) {
    return fail(ErrorCode::usage, fmt::format("not a size in bytes such as 256MiB, 1GB or 2e9: '{}'", text));
  }
  return static_cast<std::uint64_t>(bytes);
}

CLI::Validator not_empty() {
  return CLI::Validator([](std::string const& text) { return std::string(text.empty() ? "must not be empty" : ""); },
                        "");
}

void add_run_options(CLI::App& app, RunArguments& arguments, std::string const& tuning_example) {
  constexpr std::int64_t kMostRowGroupRows = std::int64_t{1} << 31;
  app.add_option("-o,--output", arguments.output, "result file: .parquet, .arrow, .feather or .csv")
      ->check(not_empty())
      ->type_name("FILE");
  app.add_option("--compression", arguments.compression,
                 "of the result file: none, snappy, zstd, lz4 or gzip (Parquet, default snappy); none, lz4 or zstd "
                 "(Arrow,\ndefault none)")
      ->check(not_empty())
      ->type_name("NAME");
  app.add_option("--row-group-rows", arguments.row_group_rows, "most rows of a row group of the result, Parquet")
      ->check(CLI::Range(std::int64_t{1}, kMostRowGroupRows))
      ->option_text("N");
  app.add_flag("--plain-integers", arguments.plain_integers,
               "no DELTA_BINARY_PACKED in the result, Parquet, for readers that do not know it");
  app.add_flag("--sync", arguments.sync, "the result file is on the disk when the command ends (fsync)");
  app.add_option("--path", arguments.path, "what computes: auto, graphics, compute, cuda or cpu")->type_name("PATH");
  app.add_flag("--allow-cuda", arguments.allow_cuda, "let auto choose CUDA, too, where Vulkan has a GPU");
  app.add_option("--device", arguments.device, "auto, an index or part of a name of `garuda devices`")
      ->check(not_empty())
      ->type_name("DEVICE");
  app.add_option("--tuning", arguments.tuning,
                 "how it is computed, comma-separated, such as " + tuning_example + "; see garuda help tuning")
      ->type_name("KEY=VALUE,…");
  app.add_option("--memory-limit", arguments.memory_limit, "host memory: 256MiB, 1GB, 2e9")
      ->check(not_empty())
      ->type_name("SIZE");
  app.add_option("--device-memory-limit", arguments.device_memory_limit, "device memory")
      ->check(not_empty())
      ->type_name("SIZE");
  app.add_option("--threads", arguments.threads, "threads of the CPU (default: all)")
      ->check(CLI::Range(1U, kMostThreads))
      ->option_text("N");
  app.add_option("--strings", arguments.strings,
                 "columns of strings and binary in the output file: utf8, as the input has them, the default; view, as "
                 "views, which .arrow files keep")
      ->check(not_empty())
      ->type_name("FORM");
  // A flag, so that it never takes the argument that follows it for its value.
  app.add_flag("--stats", arguments.stats,
               "statistics to standard error: a table, or with --stats=json one JSON object as the last line");
  app.add_flag("--quiet", arguments.quiet, "neither progress nor diagnostics");
}

void add_temp_folder_option(CLI::App& app, RunArguments& arguments, std::string_view what) {
  app.add_option("--temp-folder", arguments.temp_folder, fmt::format("where {} (default: $TMPDIR, or /tmp)", what))
      ->check(not_empty())
      ->type_name("FOLDER");
}

Result<void> set_run_options(RunArguments const& arguments, RunOptions& options) {
  options.allow_cuda = arguments.allow_cuda;
  GARUDA_TRY_ASSIGN(options.path, parse_path(arguments.path));
  if (arguments.device != "auto") {
    if (options.path == Path::cpu) return fail(ErrorCode::usage, "--device says nothing with --path cpu");
    options.device = arguments.device;
  }
  GARUDA_TRY_ASSIGN(options.memory_limit_bytes, parse_limit("--memory-limit", arguments.memory_limit));
  GARUDA_TRY_ASSIGN(options.device_memory_limit_bytes,
                    parse_limit("--device-memory-limit", arguments.device_memory_limit));
  options.threads = arguments.threads;
  return {};
}

Result<RunRequest> to_run_request(RunArguments const& arguments) {
  RunRequest request;
  GARUDA_TRY_ASSIGN(request.stats, parse_stats(arguments.stats));
  request.quiet = arguments.quiet;
  if (!arguments.strings.empty()) {
    auto form = parse_string_form(arguments.strings);
    if (!form) return tl::unexpected(std::move(form).error().wrap("--strings"));
    request.strings = *form;
  }
  if (!arguments.output.empty()) {
    GARUDA_TRY(io::output_format_of(arguments.output));
    request.output = arguments.output;
  }
  GARUDA_TRY(set_output_options(arguments, request));
  if (!arguments.temp_folder.empty()) request.temp_folder = arguments.temp_folder;
  return request;
}

}  // namespace garuda::cli
