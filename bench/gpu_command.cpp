// The options of `garuda bench gpu`, and its tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/command.hpp"
#include "bench/gpu/gpu_bench.hpp"

namespace garuda::bench {
namespace {

/// The compute path keeps up with the CUDA path up to this ratio of their times.
constexpr double kKeptUp = 1.15;

struct GpuArguments : GpuBenchRequest {
  bool quick = false;
  std::string output;
};

Result<std::vector<Mode>> parse_modes(std::string_view text) {
  if (text == "both") return GpuBenchRequest().modes;
  if (auto const mode = parse_mode(text)) return std::vector{*mode};
  return fail(ErrorCode::usage, fmt::format("unknown mode (allowed: resident, end-to-end, both): '{}'", text));
}

/// Prints outcomes as they come and keeps what sums them up.
class Report {
 public:
  void add(GpuCellOutcome const& outcome) {
    begin(outcome.mode);
    std::vector cells{outcome.name};
    for (auto const path : paths_of(outcome.mode)) {
      auto const* const record = record_of(outcome, path);
      cells.push_back(record != nullptr ? ms_cell(record->time) : "–");
    }
    for (auto const path : paths_of(outcome.mode)) {
      if (path == base_of(outcome.mode)) continue;
      auto const ratio = ratio_to_base(outcome, path);
      cells.push_back(ratio ? fmt::format("{:.2f} ({:.2f} … {:.2f})", ratio->median, ratio->min, ratio->max) : "–");
      if (ratio) ratios_[path].push_back(ratio->median);
    }
    print_row(cells);
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
    if (*mode_ == Mode::resident) fmt::print("\nNot measured: graphics and cpu, which have no resident mode.\n");
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
  void begin(Mode mode) {
    if (mode_ == mode) return;
    end();
    mode_ = mode;
    std::vector<std::string> titles{"workload"};
    for (auto const path : paths_of(mode)) titles.push_back(fmt::format("{}, ms", to_string(path)));
    for (auto const path : paths_of(mode))
      if (path != base_of(mode)) titles.push_back(fmt::format("{} : {}", to_string(path), to_string(base_of(mode))));
    fmt::print("\n{}: medians ± MAD; ratios of runs in pairs: median (least … greatest)\n\n", to_string(mode));
    print_header(titles);
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

  std::optional<Mode> mode_;
  std::map<Path, std::vector<double>> ratios_;
  std::vector<std::string> failures_;
  nlohmann::ordered_json kept_ = nlohmann::ordered_json::array();
};

Result<void> run_gpu(GpuArguments arguments, bool) {
  if (arguments.quick) arguments.grid = GpuGrid::quick;
  Report report;
  auto const run = run_gpu_bench(arguments, [&](GpuCellOutcome const& outcome) { report.add(outcome); });
  report.end();
  if (!arguments.output.empty()) GARUDA_TRY(report.write(arguments.output));
  return run;
}

}  // namespace

void add_gpu(Bench const& bench) {
  auto const command =
      Command<GpuArguments>::add(bench, "gpu", "Graphics, compute, CUDA and CPU side by side over a grid");
  auto& request = command->request;
  command->parsed("--grid", request.grid, "full", parse_gpu_grid, "quick, full or rivals");
  command->flag("--quick", request.quick, "As --grid quick");
  command->parsed("--mode", request.modes, "both", parse_modes, "resident, end-to-end or both");
  command->option("--only", request.only, "Workloads with this in their name");
  command->option("--seconds", request.seconds, "Begin no workload later than this; 0: no limit");
  command->device(request.device);
  command->flag("--share-tables", request.share_tables, "Resident paths work on the same memory, without copies");
  command->parsed("--choices", request.choices, "", parse_choices,
                  "Of mode resident: compute:method=global,…;cuda:payload=carry,…");
  command->sampling("Timed runs a path", "Of the generated tables");
  command->option("--output", request.output, "All records as JSON, to this file");
  command->runs(bench, run_gpu);
}

}  // namespace garuda::bench
