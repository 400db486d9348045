// The Vulkan loader, the results of its calls, all of which go through check(), and what it keeps at the end of a
// process. No device function is global: each Device keeps its own dispatch table, so that several devices of several
// drivers work side by side.
#pragma once

#include <volk.h>

#include <memory>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda::vk {

/// The name of `result` as the enumerator is spelled; "VkResult" for values this build does not know.
std::string_view vk_result_name(VkResult result) noexcept;

/// Turns the outcome of the driver call `call` (its name, "vkCreateBuffer") into a Result.
/// Success codes that are not errors (VK_SUBOPTIMAL_KHR, VK_INCOMPLETE, VK_TIMEOUT …) pass as success: a caller for
/// whom they matter looks at the VkResult itself. Errors: out_of_memory for VK_ERROR_OUT_OF_{HOST,DEVICE,POOL}_MEMORY
/// and VK_ERROR_FRAGMENTED_POOL, device_failure for every other negative code; the message holds `call` and the
/// VkResult's name.
Result<void> check(VkResult result, std::string_view call);

/// Opens the Vulkan loader. The first call does the work, later ones return its outcome. Thread-safe.
/// Errors: no_device when the machine has no Vulkan loader (libvulkan.so.1), or one without Vulkan 1.3.
Result<void> load_vulkan();

/// Has devices and instances whose owners go, and what these hold of them, left to the operating system from now on,
/// which takes them down with the process, faster than the driver does one by one. For a program that is about to end
/// by os::end_before_drivers. Thread-safe.
void leave_devices_to_process_end() noexcept;

/// Whether devices are left.
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
