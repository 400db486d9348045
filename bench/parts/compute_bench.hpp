// A device opened for timing compute passes without the engine, by their own timestamps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "bench/gpu/contest.hpp"
#include "bench/parts/vulkan_device.hpp"
#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"

namespace garuda::bench {

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
