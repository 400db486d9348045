#include "report/cell_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/operator_bench.hpp"
#include "operators/contract/stats_sink.hpp"

namespace garuda::report {
namespace {

using bench::Mode;
using bench::Outcome;
using bench::Sample;

/// One target: its call, and what was found of it.
class Run {
 public:
  Run(Engine& engine, bench::Workload const& workload, Target target, std::atomic<bool> const* cancelled)
      : engine_(engine), workload_(workload), target_(target), cancelled_(cancelled) {}

  Result<void> verify(Outcome& outcome) {
    bool const on_device = target_.mode == Mode::resident;
    bench::OperatorCall call{bench::views_of(workload_.tables()), {}, {}, on_device};
    GARUDA_TRY_ASSIGN(call.options, workload_.parse_options(""));
    auto& options = bench::run_options(call.options);
    options.path = target_.path;
    if (target_.device) options.device = fmt::to_string(*target_.device);
    options.control.cancelled = cancelled_;
    if (on_device) {
      GARUDA_TRY_ASSIGN(uploaded_,
                        bench::place(engine_, workload_, {options.device, options.control}, &Engine::upload));
      call.tables = bench::views_of(uploaded_);
    }
    run_.emplace(engine_, workload_, std::move(call));
    GARUDA_TRY_ASSIGN(auto const rows, run_->verify(outcome));
    outcome.record.mode = to_string(target_.mode);
    GARUDA_TRY_ASSIGN(measured.digest, bench::digest_of(rows.schema, rows.batches));
    measured.bytes_out = workload_.rows_out() * bench::row_bytes(rows.schema);
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

 private:
  Result<Sample> run() {
    GARUDA_TRY_ASSIGN(auto sample, run_->sample());
    for (auto const& [name, value] : sample.counters)
      if (name == contract::kLongestSubmission)
        measured.longest_submission_us = std::max(measured.longest_submission_us, value);
    return sample;
  }

  Engine& engine_;
  bench::Workload const& workload_;
  Target target_;
  std::atomic<bool> const* cancelled_;
  std::vector<DeviceTable> uploaded_;
  std::optional<bench::OperatorRun> run_;
};

}  // namespace

std::string describe(Target const& target) {
  if (!target.device) return std::string(to_string(target.path));
  return fmt::format("{} on device {}{}", to_string(target.path), *target.device,
                     target.mode == Mode::resident ? ", resident" : "");
}

Result<std::vector<Result<Measured>>> measure_cell(Engine& engine, bench::Workload const& workload,
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
  }
  return measured;
}

}  // namespace garuda::report
