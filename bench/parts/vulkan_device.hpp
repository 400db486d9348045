// A Vulkan device opened for benchmarks that run without the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/gpu/contest.hpp"
#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::bench {

/// Owns the instance and its device; the device is destroyed first.
struct OpenedDevice {
  std::unique_ptr<vk::Instance> instance;
  std::unique_ptr<vk::Device> device;

  std::string const& name() const { return device->traits().name; }
  /// Name and version of the driver, as the engine spells it.
  std::string driver() const;
};

/// Opens the device that `request` names: "auto", an index or a part of a name. Software devices count.
/// Errors: no_device with the reason for each device; usage when a name matches several.
Result<OpenedDevice> open_device(std::string_view request);

/// A device with what it takes to record and submit.
struct OpenedLane : OpenedDevice {
  std::unique_ptr<vk::PipelineStore> pipelines;
  std::unique_ptr<vk::Lane> lane;

  /// The clock that times phases: "GPU timestamps" or "host time from submission to completion".
  std::string_view clock() const noexcept;
};

/// Errors: those of open_device; out_of_memory, device_failure.
Result<OpenedLane> open_lane(std::string_view request, char const* name);

/// Owns device, lane and context. Does not move.
class ComputeBench {
 public:
  /// `device`: as open_device. Errors: those of open_lane and compute_tuning.
  static Result<std::unique_ptr<ComputeBench>> open(std::string_view device,
                                                    std::optional<std::uint32_t> subgroup_size = std::nullopt);

  compute::ComputeContext& context() noexcept { return *context_; }
  compute::ComputeTuning const& tuning() const noexcept { return tuning_; }
  OpenedLane const& device() const noexcept { return opened_; }
  vk::DeviceTraits const& traits() const noexcept { return opened_.device->traits(); }
  bool is_software() const noexcept { return traits().type == vk::DeviceType::cpu; }

  /// Records with `record`, submits, waits. Its time is the sum of its phases'.
  Result<Sample> time(std::function<Result<void>()> const& record);

  /// A device buffer with `bytes` of `values` in it.
  Result<vk::Buffer> upload(std::span<std::byte const> values, char const* name);

  /// A compute pass that copies within the device, to be timed: it reads and writes about `bytes` bytes in all.
  Result<std::function<Result<Sample>()>> copy(std::uint64_t bytes);

 private:
  ComputeBench() = default;

  OpenedLane opened_;
  compute::ComputeTuning tuning_;
  PhaseCollector phases_;
  std::optional<vulkan::Submissions> submissions_;
  std::optional<compute::ComputeContext> context_;
};

}  // namespace garuda::bench
