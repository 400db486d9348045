// Devices that are left to the end of the process.
#pragma once

#include <memory>

namespace garuda::vk {

/// Has devices and instances whose owners go, and what these hold of them, left to the operating system from now on,
/// which takes them down with the process, faster than the driver does one by one. For a program that is about to end
/// by os::end_before_drivers. Thread-safe.
void leave_devices_to_process_end() noexcept;

/// Whether that was said.
bool devices_are_left() noexcept;

/// Remembers what is left, so that leak checkers find it. Thread-safe.
void remember_left(void const* object);

/// Takes over what `owner` has, for ever; where there is no memory for that, `owner` keeps it. Thread-safe.
template <class T>
void leave(std::unique_ptr<T>& owner) {
  remember_left(owner.get());
  (void)owner.release();
}

}  // namespace garuda::vk
