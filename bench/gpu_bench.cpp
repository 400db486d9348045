#include "bench/gpu_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/group_by_bench.hpp"
#include "bench/join_bench.hpp"
#include "bench/reference_join.hpp"
#include "bench/resident_bench.hpp"
#include "core/stopwatch.hpp"
#include "garuda/control.hpp"

namespace garuda::bench {
namespace {

constexpr std::uint64_t kNsASecond = 1'000'000'000;

std::string failure_of(Path path, Error const& error) {
  return fmt::format("{}: {}", to_string(path), error.describe());
}

/// Tables of a cell, and what their join or group-by must give.
class Workload {
 public:
  static Result<std::unique_ptr<Workload>> create(GpuCell const& cell, std::uint64_t seed) {
    auto workload = std::make_unique<Workload>();
    if (auto const* const join = std::get_if<JoinWorkload>(&cell.workload)) {
      workload->join_ = *join;
      workload->join_->seed = seed;
      GARUDA_TRY(check_join_workload(*workload->join_));
      GARUDA_TRY_ASSIGN(workload->tables_, generate_join_tables(*workload->join_));
      workload->joined_ =
          std::make_unique<ReferenceJoin>(workload->tables_->left.view(), workload->tables_->right.view());
      return workload;
    }
    workload->group_by_ = std::get<GroupByCase>(cell.workload);
    workload->group_by_.workload.seed = seed;
    GARUDA_TRY_ASSIGN(workload->table_, generate_group_table(workload->group_by_.workload));
    workload->grouped_ = std::make_unique<ReferenceGroups>(*workload->table_, workload->group_by_.workload);
    return workload;
  }

  std::vector<Result<ResidentSeries>> compare_resident(std::span<ResidentPath* const> paths,
                                                       ResidentSampling const& sampling) const {
    if (join_) return compare_resident_joins(paths, *tables_, *join_, *joined_, sampling);
    return compare_resident_group_bys(paths, *table_, group_by_.workload, group_by_.functions, *grouped_, sampling);
  }

  Result<std::vector<Record>> run(std::vector<Path> const& paths, GpuBenchRequest const& asked) const {
    std::vector<Record> records;
    auto const fill = [&](auto& request) {
      request.paths = paths;
      request.device = asked.device;
      request.repeat = asked.repeat;
      request.cancelled = asked.cancelled;
    };
    if (join_) {
      JoinBenchRequest request;
      request.workload = *join_;
      fill(request);
      GARUDA_TRY_ASSIGN(auto outcomes, run_join_bench(request, *tables_, *joined_));
      for (auto& outcome : outcomes) records.push_back(std::move(outcome.record));
      return records;
    }
    GroupByBenchRequest request;
    request.workload = group_by_.workload;
    request.functions = group_by_.functions;
    fill(request);
    GARUDA_TRY_ASSIGN(auto outcomes, run_group_by_bench(request, *table_, *grouped_));
    for (auto& outcome : outcomes) records.push_back(std::move(outcome.record));
    return records;
  }

 private:
  std::optional<JoinWorkload> join_;
  std::optional<JoinTables> tables_;
  std::unique_ptr<ReferenceJoin> joined_;
  GroupByCase group_by_;
  std::optional<Table> table_;
  std::unique_ptr<ReferenceGroups> grouped_;
};

/// Device failures of a cell, and what else it came to.
struct Measured {
  GpuCellOutcome outcome;
  std::optional<Error> wrong;  ///< the first
};

void note(Measured& measured, Path path, Error error) {
  measured.outcome.failures.push_back(failure_of(path, error));
  if (!measured.wrong && error.code() == ErrorCode::device_failure) measured.wrong = std::move(error);
}

/// The resident paths, opened for the first workload and kept for the next ones: drivers and CUDA contexts take longer
/// to open than many a workload to run.
class ResidentPaths {
 public:
  explicit ResidentPaths(GpuBenchRequest const& request) : request_(request) {}

  /// Those that can be opened; the others' reasons are noted.
  std::vector<ResidentPath*> open(Measured& measured) {
    auto const paths = paths_of(GpuMode::resident);
    if (opened_.empty()) {
      auto choices = choices_of(paths, std::string(), {});
      for (auto& choice : choices)
        for (auto const& asked : request_.choices)
          if (asked.path == choice.path) choice = asked;
      opened_ = open_resident_paths(choices, request_.device);
    }
    std::vector<ResidentPath*> ready;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      if (opened_[p]) {
        ready.push_back(opened_[p]->get());
      } else {
        note(measured, paths[p], opened_[p].error());
      }
    }
    return ready;
  }
  /// After a failure of a device, whose state nobody knows then: the next workload opens all paths again.
  void close() { opened_.clear(); }

 private:
  GpuBenchRequest const& request_;
  std::vector<Result<std::unique_ptr<ResidentPath>>> opened_;
};

void measure_resident(Workload const& workload, GpuBenchRequest const& request, ResidentPaths& paths,
                      Measured& measured) {
  auto const ready = paths.open(measured);
  auto all = workload.compare_resident(ready, {request.share_tables, request.repeat, request.cancelled});
  for (std::size_t p = 0; p < ready.size(); ++p) {
    if (all[p]) {
      measured.outcome.records.push_back(std::move(all[p]->record));
    } else {
      note(measured, ready[p]->path(), std::move(all[p]).error());
    }
  }
  if (measured.wrong) paths.close();
}

/// Together, so that the paths take turns; one by one where one of them fails.
void measure_end_to_end(Workload const& workload, GpuBenchRequest const& request, Measured& measured) {
  auto const paths = paths_of(GpuMode::end_to_end);
  if (auto records = workload.run(paths, request)) {
    measured.outcome.records = std::move(*records);
    return;
  }
  for (auto const path : paths) {
    auto own = workload.run({path}, request);
    if (own) {
      measured.outcome.records.push_back(std::move(own->front()));
    } else {
      note(measured, path, std::move(own).error());
    }
  }
}

Measured measure(GpuMode mode, GpuCell const& cell, GpuBenchRequest const& request, ResidentPaths& paths) {
  Measured measured;
  measured.outcome.mode = mode;
  measured.outcome.name = cell.name;
  auto workload = Workload::create(cell, request.seed);
  if (!workload) {
    measured.outcome.failures.push_back(workload.error().describe());
  } else if (mode == GpuMode::resident) {
    measure_resident(**workload, request, paths, measured);
  } else {
    measure_end_to_end(**workload, request, measured);
  }
  return measured;
}

}  // namespace

std::string_view to_string(GpuMode mode) noexcept { return mode == GpuMode::resident ? "resident" : "end-to-end"; }

std::vector<Path> paths_of(GpuMode mode) {
  if (mode == GpuMode::resident) return {Path::compute, Path::cuda};
  return {Path::graphics, Path::compute, Path::cuda, Path::cpu};
}

Path base_of(GpuMode mode) noexcept { return mode == GpuMode::resident ? Path::cuda : Path::cpu; }

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
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  Stopwatch const watch;
  Control control;
  control.cancelled = request.cancelled;
  std::optional<Error> wrong;
  ResidentPaths paths(request);
  for (auto const mode : request.modes) {
    for (auto const& cell : mode == GpuMode::resident ? resident_cells(request.grid) : end_to_end_cells(request.grid)) {
      if (cell.name.find(request.only) == std::string::npos) continue;
      if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between workloads");
      if (request.seconds != 0 && watch.elapsed_ns() >= request.seconds * kNsASecond) {
        report({mode, cell.name, {}, {fmt::format("the {} s that were given are over", request.seconds)}});
        continue;
      }
      auto measured = measure(mode, cell, request, paths);
      report(measured.outcome);
      if (!wrong) wrong = std::move(measured.wrong);
    }
  }
  if (wrong) return tl::unexpected(std::move(*wrong));
  return {};
}

}  // namespace garuda::bench
