#include "bench/histogram_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/histogram_bench.hpp"
#include "bench/row_count.hpp"

namespace garuda::bench {
namespace {

// Options as they were typed.
struct HistogramArguments {
  std::string rows = "32M";
  std::string bins = "2^24";
  std::vector<std::string> paths{"graphics", "compute", "cuda"};
  std::string device;
  HistogramRequest request;
  bool json = false;
};

/// The fastest first; of each path all settings with --json, else the best, the middle and the worst.
void print(std::vector<HistogramOutcome> outcomes, bool json) {
  if (json) {
    for (auto const& outcome : outcomes) fmt::print("{}\n", to_json_line(outcome.record));
    return;
  }
  fmt::print("| path | setting | ms | values/s |\n|---|---|---|---|\n");
  auto first = outcomes.begin();
  while (first != outcomes.end()) {
    auto const path = first->record.path;
    auto const last = std::find_if(first, outcomes.end(), [&](auto const& o) { return o.record.path != path; });
    std::sort(first, last,
              [](auto const& a, auto const& b) { return a.record.time.median_ns < b.record.time.median_ns; });
    auto const settings = last - first;
    std::vector<std::ptrdiff_t> shown{0};
    for (auto const position : {(settings - 1) / 2, settings - 1})
      if (position != shown.back()) shown.push_back(position);
    for (auto const position : shown) {
      auto const& [record, setting] = first[position];
      fmt::print("| {} | {} ({} of {}) | {:.4f} ± {:.4f} | {} |\n", path, setting, position + 1, settings,
                 static_cast<double>(record.time.median_ns) / 1e6, static_cast<double>(record.time.mad_ns) / 1e6,
                 format_rate(rows_per_second(record)));
    }
    first = last;
  }
}

Result<void> run_histogram(HistogramArguments const& arguments, std::atomic<bool> const* cancelled) {
  auto request = arguments.request;
  GARUDA_TRY_ASSIGN(request.rows, parse_row_count(arguments.rows));
  GARUDA_TRY_ASSIGN(request.bins, parse_row_count(arguments.bins));
  request.paths.clear();
  for (auto const& name : arguments.paths) {
    GARUDA_TRY_ASSIGN(auto const path, parse_path(name));
    request.paths.push_back(path);
  }
  if (!arguments.device.empty()) request.device = arguments.device;
  request.cancelled = cancelled;
  GARUDA_TRY_ASSIGN(auto outcomes, run_histogram_bench(request));
  print(std::move(outcomes), arguments.json);
  return {};
}

}  // namespace

void add_histogram_command(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  auto const arguments = std::make_shared<HistogramArguments>();  // the parser and what is selected both refer to them
  auto& request = arguments->request;
  auto* const command = bench.add_subcommand("histogram", "Values counted by their low bits: blending against atomics");
  command->add_option("--rows", arguments->rows, "Values: 2^25, 32M, 6e6")->capture_default_str();
  command->add_option("--bins", arguments->bins, "A power of two")->capture_default_str();
  command->add_option("--path", arguments->paths, "graphics, compute, cuda")->delimiter(',')->capture_default_str();
  command->add_option("--device", arguments->device, "auto, an index or part of a name");
  command->add_option("--repeat", request.repeat, "Timed runs a setting")->capture_default_str();
  command->add_option("--seed", request.seed, "Of the values")->capture_default_str();
  command->add_flag("--json", arguments->json, "One JSON object a setting, a line each");
  command->callback([=] { select([=] { return flushed(run_histogram(*arguments, cancelled)); }); });
}

}  // namespace garuda::bench
