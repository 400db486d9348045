// Which device to use: a pure function over traits, so that every rejection is tested without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::vk {

/// The best usable device by type: discrete, integrated, virtual, other, cpu.
struct AutoDevice {
  bool operator==(AutoDevice const&) const = default;
};

/// What the caller asked for: auto, the index in enumeration order, or a part of the name (case-insensitive).
using DeviceRequest = std::variant<AutoDevice, std::uint32_t, std::string>;

/// Reads "auto", a decimal index, or else a name.
DeviceRequest parse_device_request(std::string_view text);

struct RejectedDevice {
  std::uint32_t index = 0;
  std::string name;
  std::string reason;  ///< "no Vulkan 1.3 (1.1.0)", "required feature missing: dynamicRendering", …
  bool operator==(RejectedDevice const&) const = default;
};

struct DeviceChoice {
  std::uint32_t index = 0;
  std::string reason;                    ///< why this one: "discrete GPU", "asked for by index", …
  std::vector<RejectedDevice> rejected;  ///< every other device, in enumeration order
};

struct ChoiceOptions {
  /// Whether AutoDevice may end at a software device when nothing else is usable. A planner that has a CPU path says
  /// no; an explicit `--path graphics` says yes. A device named by index or name is taken whatever its type.
  bool allow_software = true;
};

/// Why garuda cannot run on a device at all, or nothing when it can: Vulkan 1.3, the required features, a queue family
/// with graphics and compute, the formats of the graphics path, required limits.
std::optional<std::string> unusable_reason(DeviceTraits const& traits);

/// Chooses among `devices` (enumeration order). Pure, does not block.
/// Errors: no_device when none fits; its causes name each device with its reason. usage when a name matches several
/// usable devices of different names.
Result<DeviceChoice> choose_device(std::span<DeviceTraits const> devices, DeviceRequest const& request,
                                   ChoiceOptions const& options = {});

}  // namespace garuda::vk
