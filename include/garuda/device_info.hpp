// The devices of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace garuda {

enum class DeviceKind : std::uint8_t { discrete, integrated, virtual_gpu, cpu, other };
std::string_view to_string(DeviceKind kind) noexcept;

/// The API through which a device is driven.
enum class DeviceApi : std::uint8_t { vulkan, cuda };
std::string_view to_string(DeviceApi api) noexcept;

/// A device as found, usable or not. A GPU that Vulkan and CUDA know is listed twice.
struct DeviceInfo {
  std::uint32_t index = 0;
  DeviceApi api = DeviceApi::vulkan;
  std::optional<std::uint32_t> same_gpu;  ///< of a CUDA device: the Vulkan device with its UUID
  std::string name;
  std::string driver;
  std::string api_version;
  DeviceKind kind = DeviceKind::other;
  std::uint64_t memory_bytes = 0;
  bool unified_memory = false;
  std::uint32_t subgroup_size = 0;
  bool usable = false;
  std::string reason;                                       ///< why it is not usable, or why it would be chosen
  std::vector<std::string> missing_optional;                ///< optional features it lacks, and what runs differently
  std::vector<std::pair<std::string, std::string>> traits;  ///< limits, features and formats that garuda uses
};

}  // namespace garuda
