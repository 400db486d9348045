// Devices that are left to the end of the process.
#pragma once

#include <memory>

namespace garuda::vk {

/// From now on devices and instances whose owners go, and what these hold of them, are left to the operating system,
/// which takes them down with the process, faster than the driver does one by one. For a program that is about to end
/// by os::end_before_drivers. Thread-safe.
void leave_devices_to_process_end() noexcept;

/// Whether that was said.
bool devices_are_left() noexcept;

/// Takes over what is left, for ever. Thread-safe.
void leave(std::shared_ptr<void> owner);

}  // namespace garuda::vk
