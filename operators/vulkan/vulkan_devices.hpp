// The Vulkan devices of this machine: found, described, opened, and their lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "operators/contract/device_set.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vulkan {

/// An open device and the pipelines that all operators on it share. Does not own.
struct VulkanDevice final : contract::OpenDevice {
  VulkanDevice() = default;
  VulkanDevice(vk::Device& opened, vk::PipelineStore& shared) : device(&opened), pipelines(&shared) {}

  vk::Device* device = nullptr;
  vk::PipelineStore* pipelines = nullptr;
};

/// Requires: it is one of Vulkan.
inline VulkanDevice& vulkan_of(contract::OpenDevice& device) { return static_cast<VulkanDevice&>(device); }

/// Opens device `index`, one of Vulkan. Errors: those of DeviceSet::open.
Result<VulkanDevice> open_vulkan(contract::DeviceSet& devices, std::size_t index);

/// The listing of a device, but for its index.
DeviceInfo describe(vk::DeviceTraits const& traits);

/// See PathRow::find_devices. Errors: no_device, which says whether the loader, a driver or a device is missing; asking
/// for the validation layer where there is none, a broken loader.
Result<std::unique_ptr<contract::ApiDevices>> find_vulkan_devices(EngineOptions const& options);

/// The lanes that a backend asks for.
struct DeviceLaneOptions {
  std::uint32_t lanes = 1;                      ///< at least 1
  Upload upload = Upload::automatic;            ///< how rows reach the device
  std::uint64_t device_memory_limit_bytes = 0;  ///< for all lanes; 0: the device's budget
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
