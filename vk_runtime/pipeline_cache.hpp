// The file in which a driver's pipeline cache survives between runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vk_runtime/device/device_traits.hpp"

namespace garuda::vk {

/// Name of the cache file of this device and driver, without folder.
std::string pipeline_cache_file_name(DeviceTraits const& traits);

/// The driver's data in the file, or empty when there is no such file, it belongs to another device or driver, or it is
/// damaged: drivers are not relied on to survive bad data. Never fails.
std::vector<std::byte> read_pipeline_cache(std::filesystem::path const& file, DeviceTraits const& traits);

/// Writes `data` under a temporary name beside `file` and renames it, so that readers see the old file or the new one.
/// Makes the folder when it is missing. Returns whether that worked.
bool write_pipeline_cache(std::filesystem::path const& file, DeviceTraits const& traits,
                          std::span<std::byte const> data);

}  // namespace garuda::vk
