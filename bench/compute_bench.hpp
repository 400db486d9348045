// A device opened for timing compute passes without the engine, by their own timestamps.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record.hpp"
#include "bench/vulkan_device.hpp"
#include "garuda/control.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/stats_sink.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::bench {

/// Adds up phases by name, in order of first appearance. Thread-safe.
class PhaseCollector final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) override;
  void add_counter(std::string_view, std::uint64_t) override {}
  void max_counter(std::string_view, std::uint64_t) override {}
  void note(std::string) override {}
  /// The phases since the last call.
  std::vector<PhaseStats> take();

 private:
  std::mutex mutex_;
  std::vector<PhaseStats> phases_;
};

/// One timed repetition.
struct PhaseSample {
  std::uint64_t ns = 0;       ///< of all phases
  std::uint64_t host_ns = 0;  ///< from the call to its completion
  std::vector<PhaseStats> phases;

  /// The same with the phases of one name alone.
  PhaseSample of_phase(std::string_view name) const;
};

/// Repeats what will be timed for half a second: a GPU that idled while the host checked results has lowered its clock.
/// Errors: cancelled; those of `run`.
Result<void> warm_up(std::function<Result<PhaseSample>()> const& run, Control const& control);

/// Owns device, lane and context. Does not move.
class ComputeBench {
 public:
  /// `device`: as open_device. `tune`: changes the device's tuning, where given.
  /// Errors: those of open_device and compute_tuning; usage from `tune`.
  using Tune = std::function<Result<void>(compute::ComputeTuning&, vk::DeviceLimits const&)>;
  static Result<std::unique_ptr<ComputeBench>> open(std::string_view device, std::optional<std::uint32_t> subgroup_size,
                                                    Tune const& tune);

  compute::ComputeContext& context() noexcept { return *context_; }
  compute::ComputeTuning const& tuning() const noexcept { return tuning_; }
  OpenedDevice const& device() const noexcept { return opened_; }
  vk::Lane& lane() noexcept { return *lane_; }
  /// "GPU timestamps" or "host time from submission to completion".
  std::string_view clock() const noexcept;

  /// Records with `record`, submits, waits. Its time is the sum of its phases'.
  Result<PhaseSample> time(std::function<Result<void>()> const& record);

  /// bench::warm_up() with time(record). Software devices are not warmed up.
  Result<void> warm_up(std::function<Result<void>()> const& record, std::atomic<bool> const* cancelled);

  /// A device buffer with `bytes` of `values` in it.
  Result<vk::Buffer> upload(std::span<std::byte const> values, char const* name);

 private:
  ComputeBench() = default;

  OpenedDevice opened_;
  std::unique_ptr<vk::PipelineStore> pipelines_;
  std::unique_ptr<vk::Lane> lane_;
  compute::ComputeTuning tuning_;
  PhaseCollector phases_;
  std::optional<vulkan::Submissions> submissions_;
  std::optional<compute::ComputeContext> context_;
};

/// The sample whose time is the median, or next below it. Requires samples.
PhaseSample const& median_sample(std::span<PhaseSample const> samples);
std::vector<std::uint64_t> times_of(std::span<PhaseSample const> samples);
std::vector<std::uint64_t> host_times_of(std::span<PhaseSample const> samples);

}  // namespace garuda::bench
