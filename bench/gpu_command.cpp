#include "bench/gpu_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu_bench.hpp"

namespace garuda::bench {
namespace {

/// What a ratio may be at most where the compute path keeps up with the CUDA path.
constexpr double kKeptUp = 1.15;

// Options as they were typed.
struct GpuArguments {
  std::string grid = "full";
  std::string mode = "both";
  std::string output;
  std::string device;
  std::string choices;
  bool quick = false;
  GpuBenchRequest request;
};

std::string cell_text(Record const* record) {
  if (record == nullptr) return "–";
  return fmt::format("{:.3f} ± {:.3f}", static_cast<double>(record->time.median_ns) / 1e6,
                     static_cast<double>(record->time.mad_ns) / 1e6);
}

/// Prints outcomes as they come and keeps what sums them up.
class Report {
 public:
  void add(GpuCellOutcome const& outcome) {
    begin(outcome.mode);
    auto const base = base_of(outcome.mode);
    auto line = fmt::format("| {}", outcome.name);
    for (auto const path : paths_of(outcome.mode)) line += fmt::format(" | {}", cell_text(record_of(outcome, path)));
    for (auto const path : paths_of(outcome.mode)) {
      if (path == base) continue;
      auto const ratio = ratio_to_base(outcome, path);
      line += ratio ? fmt::format(" | {:.2f} ({:.2f} … {:.2f})", ratio->median, ratio->min, ratio->max) : " | –";
      if (ratio) ratios_[path].push_back(ratio->median);
    }
    fmt::print("{} |\n", line);
    std::fflush(stdout);
    for (auto const& failure : outcome.failures) failures_.push_back(fmt::format("{}: {}", outcome.name, failure));
    keep(outcome);
  }

  void end() {
    if (!mode_) return;
    for (auto& [path, ratios] : ratios_) {
      std::ranges::sort(ratios);
      auto const kept_up = std::ranges::count_if(ratios, [](double ratio) { return ratio <= kKeptUp; });
      auto const ahead = std::ranges::count_if(ratios, [](double ratio) { return ratio <= 1; });
      fmt::print("\n{} : {}, {} workloads: median {:.2f}, {:.2f} … {:.2f}; at most {} in {}, at most 1 in {}\n",
                 to_string(path), to_string(base_of(*mode_)), ratios.size(), ratios[(ratios.size() - 1) / 2],
                 ratios.front(), ratios.back(), kKeptUp, kept_up, ahead);
    }
    if (*mode_ == GpuMode::resident) fmt::print("\nNot measured: graphics and cpu, which have no resident mode.\n");
    for (auto const& failure : failures_) fmt::print("Not measured: {}\n", failure);
    ratios_.clear();
    failures_.clear();
    mode_.reset();
  }

  Result<void> write(std::string const& file) const {
    std::ofstream stream(file);
    stream << kept_.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    stream.close();
    if (stream) return {};
    return fail(ErrorCode::output, fmt::format("the records cannot be written: {}", file));
  }

 private:
  void begin(GpuMode mode) {
    if (mode_ == mode) return;
    end();
    mode_ = mode;
    std::string titles = "| workload";
    std::string rule = "|---";
    auto const add_column = [&](std::string const& title) {
      titles += fmt::format(" | {}", title);
      rule += "|---";
    };
    for (auto const path : paths_of(mode)) add_column(fmt::format("{}, ms", to_string(path)));
    for (auto const path : paths_of(mode))
      if (path != base_of(mode)) add_column(fmt::format("{} : {}", to_string(path), to_string(base_of(mode))));
    fmt::print("\n{}: medians ± MAD; ratios of runs in pairs: median (least … greatest)\n\n{} |\n{}|\n",
               to_string(mode), titles, rule);
  }

  void keep(GpuCellOutcome const& outcome) {
    nlohmann::ordered_json cell;
    cell["mode"] = to_string(outcome.mode);
    cell["workload"] = outcome.name;
    cell["records"] = nlohmann::ordered_json::array();
    for (auto const& record : outcome.records) {
      auto line = nlohmann::ordered_json::parse(to_json_line(record));
      line["samples_ns"] = record.samples_ns;
      cell["records"].push_back(std::move(line));
    }
    cell["failures"] = outcome.failures;
    kept_.push_back(std::move(cell));
  }

  std::optional<GpuMode> mode_;
  std::map<Path, std::vector<double>> ratios_;
  std::vector<std::string> failures_;
  nlohmann::ordered_json kept_ = nlohmann::ordered_json::array();
};

Result<void> run_gpu(GpuArguments const& arguments, std::atomic<bool> const* cancelled) {
  auto request = arguments.request;
  GARUDA_TRY_ASSIGN(request.grid, parse_gpu_grid(arguments.quick ? "quick" : arguments.grid));
  if (!arguments.device.empty()) request.device = arguments.device;
  if (arguments.mode == "resident" || arguments.mode == "end-to-end") {
    request.modes = {arguments.mode == "resident" ? GpuMode::resident : GpuMode::end_to_end};
  } else if (arguments.mode != "both") {
    return fail(ErrorCode::usage,
                fmt::format("unknown mode (allowed: resident, end-to-end, both): '{}'", arguments.mode));
  }
  GARUDA_TRY_ASSIGN(request.choices, parse_choices<std::string>(arguments.choices, text_as_it_is));
  request.cancelled = cancelled;
  Report report;
  auto const run = run_gpu_bench(request, [&](GpuCellOutcome const& outcome) { report.add(outcome); });
  report.end();
  if (!arguments.output.empty()) GARUDA_TRY(report.write(arguments.output));
  return run;
}

}  // namespace

void add_gpu_command(CLI::App& bench, Select const& select, std::atomic<bool> const* cancelled) {
  auto const arguments = std::make_shared<GpuArguments>();  // the parser and what is selected both refer to them
  auto& request = arguments->request;
  auto* const command = bench.add_subcommand("gpu", "Graphics, compute, CUDA and CPU side by side over a grid");
  command->add_option("--grid", arguments->grid, "quick, full or rivals")->capture_default_str();
  command->add_flag("--quick", arguments->quick, "As --grid quick");
  command->add_option("--mode", arguments->mode, "resident, end-to-end or both")->capture_default_str();
  command->add_option("--only", request.only, "Workloads with this in their name");
  command->add_option("--seconds", request.seconds, "Begin no workload later than this; 0: no limit")
      ->capture_default_str();
  command->add_option("--device", arguments->device, "auto, an index or part of a name");
  command->add_flag("--share-tables", request.share_tables, "Resident paths work on the same memory, without copies");
  command->add_option("--choices", arguments->choices,
                      "Of mode resident: compute:partition_items=16,…;cuda:payload=carry,…");
  command->add_option("--repeat", request.repeat, "Timed runs a path")->capture_default_str();
  command->add_option("--seed", request.seed, "Of the generated tables")->capture_default_str();
  command->add_option("--output", arguments->output, "All records as JSON, to this file");
  command->callback([=] { select([=] { return flushed(run_gpu(*arguments, cancelled)); }); });
}

}  // namespace garuda::bench
