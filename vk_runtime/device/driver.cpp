#include "vk_runtime/device/driver.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <vector>

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

namespace {

Result<void> open_loader() {
  if (volkInitialize() != VK_SUCCESS) {
    return fail(ErrorCode::no_device, "no Vulkan loader on this machine (libvulkan.so.1 was not found)");
  }
  std::uint32_t const version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_3) {
    return fail(ErrorCode::no_device, fmt::format("the Vulkan loader is older than 1.3: {}.{}",
                                                  VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)));
  }
  return {};
}

}  // namespace

Result<void> load_vulkan() {
  static Result<void> const outcome = open_loader();
  return outcome;
}

namespace {

std::atomic<bool> are_left{false};

}  // namespace

void leave_devices_to_process_end() noexcept { are_left = true; }
bool devices_are_left() noexcept { return are_left; }

void remember_left(void const* object) {
  static std::mutex mutex;
  static auto& left = *new std::vector<void const*>;  // never destroyed
  std::lock_guard const lock(mutex);
  left.push_back(object);
}

}  // namespace garuda::vk
