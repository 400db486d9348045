// The Vulkan loader, opened once per process through volk. No device function is ever global: each Device keeps its own
// dispatch table, so that several devices of several drivers work side by side.
#pragma once

#include <volk.h>

#include <cstdint>

#include "garuda/error.hpp"

namespace garuda::vk {

/// Opens the Vulkan loader. The first call does the work, later ones return its outcome. Thread-safe.
/// Errors: no_device when the machine has no Vulkan loader (libvulkan.so.1), or one without Vulkan 1.3.
Result<void> load_vulkan();

/// Instance API version of the loader; only after load_vulkan() succeeded.
std::uint32_t loader_api_version();

}  // namespace garuda::vk
