// The Vulkan devices of this machine: found, described, opened.
#pragma once

#include <cstddef>
#include <memory>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "operators/contract/device_set.hpp"
#include "vk_runtime/device/device.hpp"
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

}  // namespace garuda::vulkan
