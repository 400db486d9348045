// Says which devices garuda can run on: a pure function over traits, so that every reason is tested without a device.
#pragma once

#include <optional>
#include <string>

#include "vk_runtime/device/device_traits.hpp"

namespace garuda::vk {

/// Why garuda cannot run on a device at all, or nothing when it can: Vulkan 1.3, the required features, a queue family
/// with graphics and compute, the formats of the graphics path, required limits.
std::optional<std::string> unusable_reason(DeviceTraits const& traits);

}  // namespace garuda::vk
