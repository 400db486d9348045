// The way that rows reach a device: as a tuning asks for it, and as the runtime does it.
#pragma once

#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::vulkan {

/// Converts between a tuning's mode and the runtime's.
Upload upload_of(vk::UploadMode mode) noexcept;
/// Requires: not automatic.
vk::UploadMode mode_of(Upload upload);

/// The way that keys and values reach a device: the one asked for, or the device's default.
/// Errors: no_device, with the reason, when the device has not what was asked for.
Result<vk::UploadMode> upload_mode(vk::DeviceTraits const& traits, Upload upload);

}  // namespace garuda::vulkan
