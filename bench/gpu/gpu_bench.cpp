#include "bench/gpu/gpu_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/stopwatch.hpp"
#include "garuda/control.hpp"

namespace garuda::bench {
namespace {

constexpr std::uint64_t kNsASecond = 1'000'000'000;

class GpuBench {
 public:
  explicit GpuBench(GpuBenchRequest const& request) : request_(request) {}

  /// Errors: cancelled. What else fails is in the outcome.
  Result<GpuCellOutcome> measure(Mode mode, GpuCell const& cell) {
    GpuCellOutcome outcome{mode, cell.name, {}, {}};
    OperatorRequest request = request_;
    request.mode = mode;
    request.paths = paths_of(mode);
    request.choices.clear();
    auto const workload = Workload::create(cell.workload, request_.seed);
    if (!workload) {
      outcome.failures.push_back(workload.error().describe());
      return outcome;
    }
    auto const ready = mode == Mode::resident ? resident_paths(outcome) : std::vector<ResidentPath*>();
    auto measured = mode == Mode::resident ? compare_resident(**workload, request, ready, OnFailure::go_on)
                                           : compare_end_to_end(**workload, request, OnFailure::go_on);
    if (!measured && measured.error().code() == ErrorCode::cancelled)
      return tl::unexpected(std::move(measured).error());
    if (!measured) {
      outcome.failures.push_back(measured.error().describe());
      return outcome;
    }
    for (std::size_t p = 0; p < measured->size(); ++p) {
      auto& result = (*measured)[p];
      if (result) {
        outcome.records.push_back(std::move(result->record));
      } else {
        note(outcome, mode == Mode::resident ? ready[p]->path() : request.paths[p], std::move(result).error());
      }
    }
    return outcome;
  }

  std::optional<Error> const& wrong() const noexcept { return wrong_; }

 private:
  /// The resident paths that can be opened; the others' reasons are noted. They are kept for the next workloads:
  /// drivers and CUDA contexts take longer to open than many a workload to run.
  std::vector<ResidentPath*> resident_paths(GpuCellOutcome& outcome) {
    auto const paths = paths_of(Mode::resident);
    if (std::exchange(is_broken_, false)) opened_.clear();
    if (opened_.empty()) {
      std::vector<Choice> choices;
      for (auto const path : paths) {
        auto const asked = std::ranges::find(request_.choices, path, &Choice::path);
        choices.push_back(asked == request_.choices.end() ? Choice{path, {}} : *asked);
      }
      opened_ = open_resident_paths(choices, request_.device);
    }
    std::vector<ResidentPath*> ready;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      if (opened_[p]) {
        ready.push_back(opened_[p]->get());
      } else {
        note(outcome, paths[p], opened_[p].error());
      }
    }
    return ready;
  }

  void note(GpuCellOutcome& outcome, Path path, Error error) {
    outcome.failures.push_back(fmt::format("{}: {}", to_string(path), error.describe()));
    if (error.code() != ErrorCode::device_failure) return;
    if (!wrong_) wrong_ = std::move(error);
    is_broken_ = true;
  }

  GpuBenchRequest const& request_;
  std::vector<Result<std::unique_ptr<ResidentPath>>> opened_;
  bool is_broken_ = false;      ///< a device has failed, whose state nobody knows now: open all paths again
  std::optional<Error> wrong_;  ///< the first
};

}  // namespace

std::vector<Path> paths_of(Mode mode) {
  if (mode == Mode::resident) return {Path::compute, Path::cuda};
  return {Path::graphics, Path::compute, Path::cuda, Path::cpu};
}

Path base_of(Mode mode) noexcept { return mode == Mode::resident ? Path::cuda : Path::cpu; }

Record const* record_of(GpuCellOutcome const& outcome, Path path) noexcept {
  auto const found = std::ranges::find(outcome.records, to_string(path), &Record::path);
  return found == outcome.records.end() ? nullptr : &*found;
}

std::optional<RatioSummary> ratio_to_base(GpuCellOutcome const& outcome, Path path) {
  auto const* const own = record_of(outcome, path);
  auto const* const base = record_of(outcome, base_of(outcome.mode));
  bool const can_be_paired = own != nullptr && base != nullptr && own->samples_ns.size() == base->samples_ns.size() &&
                             std::ranges::find(base->samples_ns, 0U) == base->samples_ns.end();
  if (!can_be_paired) return std::nullopt;
  return summarise_ratios(own->samples_ns, base->samples_ns);
}

Result<void> run_gpu_bench(GpuBenchRequest const& request, std::function<void(GpuCellOutcome const&)> const& report) {
  GARUDA_TRY(check(request));
  Stopwatch const watch;
  Control control;
  control.cancelled = request.cancelled;
  GpuBench bench(request);
  for (auto const mode : request.modes) {
    for (auto const& cell : mode == Mode::resident ? resident_cells(request.grid) : end_to_end_cells(request.grid)) {
      if (cell.name.find(request.only) == std::string::npos) continue;
      if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between workloads");
      if (request.seconds != 0 && watch.elapsed_ns() >= request.seconds * kNsASecond) {
        report({mode, cell.name, {}, {fmt::format("the {} s that were given are over", request.seconds)}});
        continue;
      }
      GARUDA_TRY_ASSIGN(auto const outcome, bench.measure(mode, cell));
      report(outcome);
    }
  }
  if (bench.wrong()) return tl::unexpected(*bench.wrong());
  return {};
}

}  // namespace garuda::bench
