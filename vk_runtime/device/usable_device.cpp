#include "vk_runtime/device/usable_device.hpp"

#include <fmt/format.h>
#include <volk.h>

#include <algorithm>

namespace garuda::vk {
namespace {

struct RequiredFeature {
  bool DeviceFeatures::*member;
  char const* name;
};

constexpr RequiredFeature kRequiredFeatures[] = {
    {&DeviceFeatures::dynamic_rendering, "dynamicRendering"},
    {&DeviceFeatures::synchronization2, "synchronization2"},
    {&DeviceFeatures::maintenance4, "maintenance4"},
    {&DeviceFeatures::timeline_semaphore, "timelineSemaphore"},
};

/// Formats without which no pass of the graphics path can run: hash images and row images.
constexpr PixelFormat kRequiredFormats[] = {PixelFormat::r32_uint, PixelFormat::r32g32_uint,
                                            PixelFormat::r32g32b32a32_uint};

/// The least that garuda's images, results and scans are sized for. Vulkan guarantees each or more on a conformant
/// device.
constexpr std::uint32_t kMinRenderExtent = 4096;
constexpr std::uint32_t kMinWorkgroupInvocations = 128;
constexpr std::uint32_t kMinPushConstantsBytes = 128;

std::optional<std::string> missing_format(DeviceTraits const& traits) {
  for (PixelFormat format : kRequiredFormats) {
    FormatSupport const& support = traits.format(format);
    if (!support.color_attachment) return fmt::format("format not a colour attachment: {}", to_string(format));
    if (!support.sampled) return fmt::format("format not sampled: {}", to_string(format));
  }
  return std::nullopt;
}

std::optional<std::string> missing_limit(DeviceTraits const& traits) {
  if (traits.max_render_extent() < kMinRenderExtent) {
    return fmt::format("images smaller than {0}x{0}: {1}", kMinRenderExtent, traits.max_render_extent());
  }
  if (traits.limits.max_workgroup_invocations < kMinWorkgroupInvocations) {
    return fmt::format("workgroups smaller than {}: {}", kMinWorkgroupInvocations,
                       traits.limits.max_workgroup_invocations);
  }
  if (traits.limits.max_push_constants_bytes < kMinPushConstantsBytes) {
    return fmt::format("push constants smaller than {} bytes: {}", kMinPushConstantsBytes,
                       traits.limits.max_push_constants_bytes);
  }
  if (traits.limits.point_size_range[0] > 1.0F) return "point size 1 unsupported";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unusable_reason(DeviceTraits const& traits) {
  if (traits.api_version < VK_API_VERSION_1_3) return fmt::format("no Vulkan 1.3: {}", traits.api_version_text());
  for (RequiredFeature const& feature : kRequiredFeatures) {
    if (!(traits.features.*feature.member)) return fmt::format("required feature missing: {}", feature.name);
  }
  bool const main_queue = std::ranges::any_of(
      traits.queue_families, [](QueueFamily const& family) { return family.graphics && family.compute; });
  if (!main_queue) return "no queue with graphics and compute";
  if (auto reason = missing_format(traits)) return reason;
  return missing_limit(traits);
}

}  // namespace garuda::vk
