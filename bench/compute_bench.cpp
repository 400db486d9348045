#include "bench/compute_bench.hpp"

#include <algorithm>
#include <utility>

#include "core/stopwatch.hpp"
#include "garuda/control.hpp"

namespace garuda::bench {
namespace {

constexpr std::uint64_t kWarmUpNs = 500'000'000;

}  // namespace

void PhaseCollector::add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) {
  std::lock_guard const lock(mutex_);
  auto const found = std::ranges::find(phases_, name, &PhaseStats::name);
  auto& phase = found == phases_.end() ? phases_.emplace_back(PhaseStats{std::string(name), 0, 0, 0}) : *found;
  phase.ns += ns;
  phase.bytes += bytes;
  phase.items += items;
}

std::vector<PhaseStats> PhaseCollector::take() {
  std::lock_guard const lock(mutex_);
  return std::exchange(phases_, {});
}

Result<std::unique_ptr<ComputeBench>> ComputeBench::open(std::string_view device,
                                                         std::optional<std::uint32_t> subgroup_size, Tune const& tune) {
  std::unique_ptr<ComputeBench> bench(new ComputeBench);
  GARUDA_TRY_ASSIGN(bench->opened_, open_device(device));
  auto& opened = *bench->opened_.device;
  GARUDA_TRY_ASSIGN(bench->tuning_, compute::compute_tuning(opened.traits(), subgroup_size));
  if (tune) GARUDA_TRY(tune(bench->tuning_, opened.traits().limits));
  GARUDA_TRY_ASSIGN(bench->pipelines_, vk::PipelineStore::create(opened, vk::default_cache_folder()));
  vk::LaneOptions options;
  options.name = "bench compute";
  GARUDA_TRY_ASSIGN(bench->lane_, vk::Lane::create(opened, options));
  bench->submissions_.emplace(*bench->lane_, nullptr, &bench->phases_);
  bench->context_.emplace(*bench->lane_, *bench->pipelines_, *bench->submissions_, bench->tuning_,
                          opened.memory().available_bytes());
  return bench;
}

std::string_view ComputeBench::clock() const noexcept {
  return lane_->timer().source() == vk::ClockSource::device ? "GPU timestamps"
                                                            : "host time from submission to completion";
}

Result<void> warm_up(std::function<Result<PhaseSample>()> const& run, Control const& control) {
  Stopwatch const watch;
  while (watch.elapsed_ns() < kWarmUpNs) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled while the device was warmed up");
    GARUDA_TRY(run());
  }
  return {};
}

Result<PhaseSample> ComputeBench::time(std::function<Result<void>()> const& record) {
  phases_.take();
  Stopwatch const watch;
  GARUDA_TRY(record());
  GARUDA_TRY(submissions_->finish());
  PhaseSample sample;
  sample.host_ns = watch.elapsed_ns();
  sample.phases = phases_.take();
  for (auto const& phase : sample.phases) sample.ns += phase.ns;
  return sample;
}

Result<void> ComputeBench::warm_up(std::function<Result<void>()> const& record, std::atomic<bool> const* cancelled) {
  if (opened_.device->traits().type == vk::DeviceType::cpu) return {};
  Control control;
  control.cancelled = cancelled;
  return bench::warm_up([&] { return time(record); }, control);
}

Result<vk::Buffer> ComputeBench::upload(std::span<std::byte const> values, char const* name) {
  GARUDA_TRY_ASSIGN(auto buffer, context_->device_buffer(values.size(), name));
  if (!values.empty()) GARUDA_TRY(context_->upload(buffer, 0, values));
  // What is timed next does not wait for the copy.
  GARUDA_TRY(context_->order_all("upload"));
  GARUDA_TRY(submissions_->finish());
  return buffer;
}

PhaseSample PhaseSample::of_phase(std::string_view name) const {
  PhaseSample sample;
  sample.host_ns = host_ns;
  for (auto const& phase : phases) {
    if (phase.name != name) continue;
    sample.ns += phase.ns;
    sample.phases.push_back(phase);
  }
  return sample;
}

PhaseSample const& median_sample(std::span<PhaseSample const> samples) {
  return samples[median_position(times_of(samples))];
}

std::vector<std::uint64_t> times_of(std::span<PhaseSample const> samples) {
  std::vector<std::uint64_t> times;
  for (auto const& sample : samples) times.push_back(sample.ns);
  return times;
}

std::vector<std::uint64_t> host_times_of(std::span<PhaseSample const> samples) {
  std::vector<std::uint64_t> times;
  for (auto const& sample : samples) times.push_back(sample.host_ns);
  return times;
}

}  // namespace garuda::bench
