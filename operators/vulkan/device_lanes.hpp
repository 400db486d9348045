// The lanes of a device that a backend runs its slices on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::vulkan {

/// The lanes that a backend asks for.
struct DeviceLaneOptions {
  std::uint32_t lanes = 1;                      ///< at least 1
  Upload upload = Upload::automatic;            ///< how rows reach the device
  std::uint64_t device_memory_limit_bytes = 0;  ///< of all lanes; 0: the device's budget
  char const* name = "lane";                    ///< outlives the lanes
};

/// Lanes, and the device memory that each may take.
struct DeviceLanes {
  std::vector<std::unique_ptr<vk::Lane>> lanes;
  std::uint64_t lane_budget_bytes = 0;

  /// `device` outlives the lanes. Errors: usage for an upload that the device cannot do, out_of_memory, device_failure.
  static Result<DeviceLanes> open(vk::Device& device, DeviceLaneOptions const& options);

  /// The lane, emptied: its previous kernel has to be gone. Errors: device_failure.
  Result<vk::Lane*> take(std::uint32_t lane);
};

}  // namespace garuda::vulkan
