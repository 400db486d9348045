// Names of what devices are.
#include "garuda/device_info.hpp"

namespace garuda {

std::string_view to_string(DeviceApi api) noexcept { return api == DeviceApi::cuda ? "cuda" : "vulkan"; }

std::string_view to_string(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::discrete:
      return "discrete";
    case DeviceKind::integrated:
      return "integrated";
    case DeviceKind::virtual_gpu:
      return "virtual";
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::other:
      break;
  }
  return "other";
}

}  // namespace garuda
