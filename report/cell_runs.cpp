#include "report/cell_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/stopwatch.hpp"
#include "operators/contract/stats_sink.hpp"

namespace garuda::report {
namespace {

using bench::Mode;
using bench::Outcome;
using bench::Sample;
using bench::Workload;

/// One target.
class Run {
 public:
  Run(Engine& engine, Workload const& workload, Target target, std::atomic<bool> const* cancelled)
      : engine_(engine), workload_(workload), target_(target), cancelled_(cancelled) {}

  Result<void> verify(Outcome& outcome) {
    GARUDA_TRY_ASSIGN(options_, workload_.parse_options(""));
    auto& run = bench::run_options(options_);
    run.path = target_.path;
    if (target_.device) run.device = fmt::to_string(*target_.device);
    run.control.cancelled = cancelled_;
    if (target_.mode == Mode::resident) {
      run.expected_rows = workload_.expected_rows();
      GARUDA_TRY(upload());
    } else {
      tables_ = bench::views_of(workload_.tables());
    }
    GARUDA_TRY_ASSIGN(auto const result, workload_.start(engine_, tables_, options_));
    std::vector<Batch> batches;
    GARUDA_TRY(read(*result, batches));
    GARUDA_TRY(workload_.check(result->schema(), batches));
    GARUDA_TRY_ASSIGN(measured.digest, bench::digest_of(result->schema(), batches));
    auto const& plan = result->plan();
    outcome.record.path = to_string(plan.path);
    outcome.record.device = plan.device;
    outcome.record.driver = plan.driver;
    outcome.record.mode = to_string(target_.mode);
    outcome.record.bytes = workload_.bytes(result->schema());
    measured.bytes_out = workload_.rows_out() * bench::row_bytes(result->schema());
    measured.bytes_in = outcome.record.bytes - measured.bytes_out;
    return {};
  }

  /// The faster of two runs that begin with memory of their own: which memory an engine keeps, and where it lies,
  /// differs by process, and with it times do; kept from run to run it would hide in every sample alike.
  Result<Sample> sample() {
    engine_.release_device_memory();
    engine_.release_host_memory();
    GARUDA_TRY_ASSIGN(auto first, run());
    GARUDA_TRY_ASSIGN(auto second, run());
    return first.ns < second.ns ? std::move(first) : std::move(second);
  }

  Measured measured;
  std::uint64_t longest_submission_us = 0;

 private:
  Result<Sample> run() {
    std::vector<Batch> kept;
    std::optional<DeviceTable> resident;
    Stopwatch const watch;
    GARUDA_TRY_ASSIGN(auto const result, workload_.start(engine_, tables_, options_));
    if (target_.mode == Mode::resident) {
      GARUDA_TRY_ASSIGN(resident, result->take_device_table());
    } else {
      GARUDA_TRY(read(*result, kept));
    }
    auto const ns = watch.elapsed_ns();
    auto stats = result->stats();
    for (auto const& [name, value] : stats.counters)
      if (name == contract::kLongestSubmission) longest_submission_us = std::max(longest_submission_us, value);
    return Sample{ns, 0, std::move(stats.phases), std::move(stats.counters)};
  }

  Result<void> upload() {
    DeviceTableOptions options;
    options.device = fmt::to_string(*target_.device);
    options.control.cancelled = cancelled_;
    for (auto const& table : workload_.tables()) {
      GARUDA_TRY_ASSIGN(auto copy, engine_.upload(table.view(), options));
      uploaded_.push_back(std::move(copy));
    }
    for (auto const& table : uploaded_) tables_.push_back(table.view());
    return {};
  }

  static Result<void> read(QueryResult& result, std::vector<Batch>& batches) {
    while (true) {
      GARUDA_TRY_ASSIGN(auto batch, result.next());
      if (!batch) return {};
      batches.push_back(std::move(*batch));
    }
  }

  Engine& engine_;
  Workload const& workload_;
  Target target_;
  std::atomic<bool> const* cancelled_;
  bench::OperatorOptions options_;
  std::vector<DeviceTable> uploaded_;
  std::vector<TableView> tables_;
};

}  // namespace

std::string describe(Target const& target) {
  if (!target.device) return std::string(to_string(target.path));
  return fmt::format("{} on device {}{}", to_string(target.path), *target.device,
                     target.mode == Mode::resident ? ", resident" : "");
}

Result<std::vector<Result<Measured>>> measure_cell(Engine& engine, Workload const& workload,
                                                   std::vector<Target> const& targets,
                                                   bench::Sampling const& sampling) {
  std::vector<std::unique_ptr<Run>> runs;
  std::vector<bench::Contender> contenders(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto* const run = runs.emplace_back(std::make_unique<Run>(engine, workload, targets[i], sampling.cancelled)).get();
    contenders[i].outcome.record = workload.record();
    contenders[i].verify = [run](Outcome& outcome) { return run->verify(outcome); };
    contenders[i].timed.run = [run] { return run->sample(); };
  }
  GARUDA_TRY(bench::measure(contenders, sampling, bench::OnFailure::go_on));
  auto outcomes = bench::outcomes_of(std::move(contenders));
  std::vector<Result<Measured>> measured;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!outcomes[i]) {
      measured.emplace_back(propagate(std::move(outcomes[i])));
      continue;
    }
    measured.emplace_back(std::move(runs[i]->measured));
    measured.back()->record = std::move(outcomes[i]->record);
    measured.back()->longest_submission_us = runs[i]->longest_submission_us;
  }
  return measured;
}

}  // namespace garuda::report
