#include "operators/vulkan/upload_mode.hpp"

#include <fmt/format.h>

namespace garuda::vulkan {

Upload upload_of(vk::UploadMode mode) noexcept {
  switch (mode) {
    case vk::UploadMode::map:
      return Upload::map;
    case vk::UploadMode::import_host:
      return Upload::import;
    case vk::UploadMode::stage:
      break;
  }
  return Upload::stage;
}

vk::UploadMode mode_of(Upload upload) {
  GARUDA_EXPECTS(upload != Upload::automatic);
  if (upload == Upload::map) return vk::UploadMode::map;
  return upload == Upload::import ? vk::UploadMode::import_host : vk::UploadMode::stage;
}

Result<vk::UploadMode> upload_mode(vk::DeviceTraits const& traits, Upload upload) {
  switch (upload) {
    case Upload::map:
      if (!traits.device_memory_mappable()) {
        return fail(ErrorCode::no_device, fmt::format("upload=map needs host-visible device memory: {}", traits.name));
      }
      return vk::UploadMode::map;
    case Upload::stage:
      return vk::UploadMode::stage;
    case Upload::import:
      if (!traits.features.external_memory_host) {
        return fail(ErrorCode::no_device,
                    fmt::format("upload=import needs VK_EXT_external_memory_host: {}", traits.name));
      }
      return vk::UploadMode::import_host;
    case Upload::automatic:
      break;
  }
  return traits.imports_in_place() ? vk::UploadMode::import_host : vk::default_upload_mode(traits);
}

}  // namespace garuda::vulkan
