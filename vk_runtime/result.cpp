#include "vk_runtime/result.hpp"

#include <fmt/format.h>

namespace garuda::vk {

std::string_view vk_result_name(VkResult result) noexcept {
  switch (result) {
#define GARUDA_VK_RESULT(name) \
  case name:                   \
    return #name
    GARUDA_VK_RESULT(VK_SUCCESS);
    GARUDA_VK_RESULT(VK_NOT_READY);
    GARUDA_VK_RESULT(VK_TIMEOUT);
    GARUDA_VK_RESULT(VK_EVENT_SET);
    GARUDA_VK_RESULT(VK_EVENT_RESET);
    GARUDA_VK_RESULT(VK_INCOMPLETE);
    GARUDA_VK_RESULT(VK_PIPELINE_COMPILE_REQUIRED);
    GARUDA_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY);
    GARUDA_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    GARUDA_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED);
    GARUDA_VK_RESULT(VK_ERROR_DEVICE_LOST);
    GARUDA_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED);
    GARUDA_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT);
    GARUDA_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT);
    GARUDA_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT);
    GARUDA_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER);
    GARUDA_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS);
    GARUDA_VK_RESULT(VK_ERROR_FORMAT_NOT_SUPPORTED);
    GARUDA_VK_RESULT(VK_ERROR_FRAGMENTED_POOL);
    GARUDA_VK_RESULT(VK_ERROR_UNKNOWN);
    GARUDA_VK_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY);
    GARUDA_VK_RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE);
    GARUDA_VK_RESULT(VK_ERROR_FRAGMENTATION);
    GARUDA_VK_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    GARUDA_VK_RESULT(VK_ERROR_NOT_PERMITTED_KHR);
    GARUDA_VK_RESULT(VK_ERROR_VALIDATION_FAILED_EXT);
#undef GARUDA_VK_RESULT
    default:
      return "VkResult";
  }
}

Result<void> check(VkResult result, std::string_view call) {
  if (result >= 0) return {};
  bool const memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
                      result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
  return fail(memory ? ErrorCode::out_of_memory : ErrorCode::device_failure,
              fmt::format("{} failed: {} ({})", call, vk_result_name(result), static_cast<int>(result)));
}

}  // namespace garuda::vk
