// Devices that are left to the end of the process.
#pragma once

#include <volk.h>

#include "vk_runtime/unique.hpp"

namespace garuda::vk {

/// From now on devices and instances whose owners go are left to the operating system, which takes them down with the
/// process, faster than the driver does one by one. For a program that is about to end by _Exit. What they own is
/// destroyed as ever, pipeline caches are saved. Thread-safe.
void leave_devices_to_process_end() noexcept;

/// Whether that was said.
bool devices_are_left() noexcept;

/// Takes them over, for ever. Thread-safe.
void leave(Unique<VkDevice> device);
void leave(Unique<VkInstance> instance);

}  // namespace garuda::vk
