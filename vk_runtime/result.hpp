// VkResult as Result<void>: every driver call goes through check().
#pragma once

#include <volk.h>

#include <string_view>

#include "garuda/error.hpp"

namespace garuda::vk {

/// Name of `result` as the enumerator is spelled; "VkResult" for values this build does not know.
std::string_view vk_result_name(VkResult result) noexcept;

/// Turns the outcome of the driver call `call` (its name, "vkCreateBuffer") into a Result.
/// Success codes that are not errors (VK_SUBOPTIMAL_KHR, VK_INCOMPLETE, VK_TIMEOUT …) pass as success: a caller for
/// whom they matter looks at the VkResult itself. Errors: out_of_memory for VK_ERROR_OUT_OF_{HOST,DEVICE,POOL}_MEMORY
/// and VK_ERROR_FRAGMENTED_POOL, device_failure for every other negative code; the message holds `call` and the
/// VkResult's name.
Result<void> check(VkResult result, std::string_view call);

}  // namespace garuda::vk
