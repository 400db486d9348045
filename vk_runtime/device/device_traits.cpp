#include "vk_runtime/device/device_traits.hpp"

#include <fmt/format.h>
#include <volk.h>

#include <algorithm>

namespace garuda::vk {
namespace {

struct NamedFeature {
  bool DeviceFeatures::*member;
  char const* name;
};

constexpr NamedFeature kOptionalFeatures[] = {
    {&DeviceFeatures::buffer_device_address, "bufferDeviceAddress"},
    {&DeviceFeatures::independent_blend, "independentBlend"},
    {&DeviceFeatures::storage_image_extended_formats, "shaderStorageImageExtendedFormats"},
    {&DeviceFeatures::shader_int64, "shaderInt64"},
    {&DeviceFeatures::shader_float64, "shaderFloat64"},
    {&DeviceFeatures::rounds_float64, "shaderRoundingModeRTEFloat64 and shaderSignedZeroInfNanPreserveFloat64"},
    {&DeviceFeatures::shader_int16, "shaderInt16"},
    {&DeviceFeatures::shader_int8, "shaderInt8"},
    {&DeviceFeatures::shader_buffer_int64_atomics, "shaderBufferInt64Atomics"},
    {&DeviceFeatures::subgroup_size_control, "subgroupSizeControl"},
    {&DeviceFeatures::pipeline_executable_properties, "VK_KHR_pipeline_executable_properties"},
    {&DeviceFeatures::external_memory_host, "VK_EXT_external_memory_host"},
    {&DeviceFeatures::memory_budget, "VK_EXT_memory_budget"},
    {&DeviceFeatures::global_priority, "VK_KHR_global_priority"},
};

/// Name i is that of PixelFormat i.
constexpr std::array<std::string_view, kPixelFormatCount> kPixelNames{
    "R32_UINT", "R32G32_UINT", "R32G32B32A32_UINT", "R32_SFLOAT", "R32G32_SFLOAT", "R32G32B32A32_SFLOAT"};

bool is_float(PixelFormat format) { return format >= PixelFormat::r32_sfloat; }

std::vector<std::string> missing_optional(DeviceTraits const& traits) {
  std::vector<std::string> missing;
  for (NamedFeature const& feature : kOptionalFeatures) {
    if (!(traits.features.*feature.member)) missing.emplace_back(feature.name);
  }
  for (std::size_t i = 0; i < kPixelFormatCount; ++i) {
    auto const format = static_cast<PixelFormat>(i);
    if (is_float(format) && !traits.formats[i].blend) {
      missing.push_back(fmt::format("blending of {}", to_string(format)));
    }
  }
  return missing;
}

/// The version in the driver's text ("Mesa 22.3.6 (LLVM …)"), or {0, 0, 0}.
std::array<int, 3> mesa_version(std::string_view info) {
  std::array<int, 3> version{};
  std::size_t const at = info.find("Mesa ");
  if (at == std::string_view::npos) return version;
  std::size_t part = 0;
  for (char c : info.substr(at + 5)) {
    if (c >= '0' && c <= '9') {
      version[part] = version[part] * 10 + (c - '0');
    } else if (c != '.' || ++part == version.size()) {
      break;
    }
  }
  return version;
}

std::vector<DriverQuirk> find_quirks(DeviceTraits const& traits) {
  std::vector<DriverQuirk> quirks;
  // 22.3.6 reports 1–2 ms for 150–1400 ms of compute; 25.0.7 is right. The versions between were not measured, so they
  // count as wrong: host time is never wrong, only coarser.
  if (traits.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE && mesa_version(traits.driver_info) < std::array{25, 0, 7}) {
    quirks.push_back(
        {std::string(kTimestampQuirk),
         fmt::format("llvmpipe before Mesa 25.0.7 reports wrong compute timestamps: {}", traits.driver_info)});
  }
  // A scatter pass takes 1.2 s to compile, specialised and with loops as they are 0.1 (2026-11).
  if (traits.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER) {
    quirks.push_back({std::string(kSpecializationQuirk),
                      "SwiftShader unrolls and compiles what a module's specialization rules out"});
  }
  return quirks;
}

bool has_timestamps(DeviceTraits const& traits) {
  return traits.limits.timestamp_period_ns > 0 &&
         std::ranges::any_of(traits.queue_families, [](QueueFamily const& family) {
           return family.graphics && family.compute && family.timestamp_valid_bits > 0;
         });
}

}  // namespace

std::string_view to_string(PixelFormat format) noexcept { return kPixelNames[static_cast<std::size_t>(format)]; }

bool DeviceTraits::has_quirk(std::string_view what) const noexcept {
  return std::ranges::any_of(quirks, [&](DriverQuirk const& quirk) { return quirk.what == what; });
}

std::uint64_t DeviceTraits::device_local_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (MemoryHeap const& heap : heaps) {
    if (heap.device_local) bytes = std::max(bytes, heap.bytes);
  }
  return bytes;
}

bool DeviceTraits::device_memory_mappable() const noexcept {
  return std::ranges::any_of(memory_types, [&](MemoryType const& memory) {
    return memory.device_local && memory.host_visible && heaps[memory.heap].bytes == device_local_bytes();
  });
}

std::uint32_t DeviceTraits::max_render_extent() const noexcept {
  return std::min({limits.max_image_2d, limits.max_framebuffer_width, limits.max_framebuffer_height,
                   limits.max_viewport[0], limits.max_viewport[1]});
}

std::string DeviceTraits::api_version_text() const {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(api_version), VK_API_VERSION_MINOR(api_version),
                     VK_API_VERSION_PATCH(api_version));
}

std::uint64_t default_max_points_per_submission(DeviceType type) noexcept {
  switch (type) {
    case DeviceType::discrete:
      return std::uint64_t{1} << 25;
    case DeviceType::integrated:
    case DeviceType::virtual_gpu:
    case DeviceType::other:
      return std::uint64_t{1} << 22;
    case DeviceType::cpu:
      break;
  }
  return std::uint64_t{1} << 18;
}

void derive_traits(DeviceTraits& traits) {
  traits.unified_memory = !traits.heaps.empty() &&
                          std::ranges::all_of(traits.heaps, [](MemoryHeap const& heap) { return heap.device_local; });
  traits.missing_optional = missing_optional(traits);
  traits.quirks = find_quirks(traits);
  traits.timestamps_reliable = has_timestamps(traits) && !traits.has_quirk(kTimestampQuirk);
  traits.max_points_per_submission = default_max_points_per_submission(traits.type);
  // Six passes of a sort of 100 000 rows, for which the pace of software devices, lavapipe's, has 23 ms, took
  // SwiftShader 2.0 s where eleven processes shared two cores (2026-11).
  if (traits.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER) traits.max_points_per_submission /= 4;
}

namespace {

constexpr NamedFeature kRequiredFeatures[] = {
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
  for (NamedFeature const& feature : kRequiredFeatures) {
    if (!(traits.features.*feature.member)) return fmt::format("required feature missing: {}", feature.name);
  }
  bool const main_queue = std::ranges::any_of(
      traits.queue_families, [](QueueFamily const& family) { return family.graphics && family.compute; });
  if (!main_queue) return "no queue with graphics and compute";
  if (auto reason = missing_format(traits)) return reason;
  return missing_limit(traits);
}

}  // namespace garuda::vk
