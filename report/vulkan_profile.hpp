// Traits of Vulkan devices in a report, beyond garuda's own listing.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::report {

/// Profiles of every device, in the loader's order, which is that of Engine::devices():
/// {"subgroups": {"size", "least", "most"}, "heaps": [{"bytes", "device_local", "budget_bytes" | null}],
///  "profile": {"api_version", "properties": {"VkPhysicalDeviceProperties": {"limits"}}, "features"}}, the profile in
/// the words of Vulkan profiles. They do not identify the machine: no UUID.
/// Errors: no_device without Vulkan or without a device; device_failure.
Result<std::vector<nlohmann::ordered_json>> vulkan_profiles();

}  // namespace garuda::report
