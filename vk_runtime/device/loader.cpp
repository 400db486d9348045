#include "vk_runtime/device/loader.hpp"

#include <fmt/format.h>

namespace garuda::vk {
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

std::uint32_t loader_api_version() { return volkGetInstanceVersion(); }

}  // namespace garuda::vk
