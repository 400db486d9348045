// The machine in a report: its processor, how it is powered and cooled, and its Vulkan devices.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::report {

using Json = nlohmann::ordered_json;

/// The part of the host's state that changes while a report is made.
struct HostState {
  double hottest_celsius = 0;         ///< of all thermal zones; 0: not known
  std::uint64_t throttle_events = 0;  ///< of all processors since they were started
  bool knows_throttling = false;
};

/// Reads /sys, or the folder `sys`. Values that are not there are unknown; never fails.
HostState read_host_state(std::filesystem::path const& sys = "/sys");

/// {"system", "architecture", "processor", "threads", "memory_bytes", "power", "governor", "hottest_celsius": [before,
/// after], "throttle_events": during the report}; what is not known is null. `power`: "mains", "battery, 80 %".
Json host_json(std::string const& processor, HostState const& before, std::filesystem::path const& sys = "/sys");

/// Writes to `bytes` of host memory, by all threads, and gives them back; fewer where not as much is free. A virtual
/// machine's host finds memory when it is first touched, which would count against whatever is measured first.
void touch_host_memory(std::uint64_t bytes);

/// Profiles of every device, in the loader's order, which is that of Engine::devices():
/// {"subgroups": {"size", "least", "most"}, "heaps": [{"bytes", "device_local", "budget_bytes" | null}],
///  "profile": {"api_version", "properties": {"VkPhysicalDeviceProperties": {"limits"}}, "features"}}, the profile in
/// the words of Vulkan profiles. They do not identify the machine: no UUID.
/// Errors: no_device without Vulkan or without a device; device_failure.
Result<std::vector<nlohmann::ordered_json>> vulkan_profiles();

}  // namespace garuda::report
