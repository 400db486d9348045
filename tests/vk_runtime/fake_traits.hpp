// Device traits without a device.
#pragma once

#include <volk.h>

#include <string>

#include "vk_runtime/device/device_traits.hpp"

namespace garuda::vk {

/// Traits of a device that garuda can use, derived members filled.
inline DeviceTraits usable_traits(std::string name, DeviceType type) {
  DeviceTraits traits;
  traits.name = std::move(name);
  traits.type = type;
  traits.vendor_id = 0x1234;
  traits.device_id = 0x5678;
  traits.driver_version = 42;
  traits.uuid[0] = 7;
  traits.pipeline_cache_uuid[3] = 9;
  traits.api_version = VK_MAKE_API_VERSION(0, 1, 3, 230);
  traits.limits.max_image_2d = 16'384;
  traits.limits.max_framebuffer_width = 8'192;
  traits.limits.max_framebuffer_height = 16'384;
  traits.limits.max_viewport = {16'384, 16'384};
  traits.limits.max_image_array_layers = 2'048;
  traits.limits.max_workgroup_invocations = 256;
  traits.limits.max_push_constants_bytes = 128;
  traits.limits.timestamp_period_ns = 1.0;
  traits.limits.point_size_range = {1.0F, 64.0F};
  traits.features.dynamic_rendering = true;
  traits.features.synchronization2 = true;
  traits.features.maintenance4 = true;
  traits.features.timeline_semaphore = true;
  for (FormatSupport& format : traits.formats) format = {true, true, true, true};
  traits.queue_families = {
      {.index = 0, .count = 1, .graphics = true, .compute = true, .transfer = true, .timestamp_valid_bits = 64}};
  traits.heaps = {{std::uint64_t{8} << 30, true}};
  traits.memory_types = {{.heap = 0, .device_local = true, .host_visible = true, .host_coherent = true}};
  derive_traits(traits);
  return traits;
}

}  // namespace garuda::vk
