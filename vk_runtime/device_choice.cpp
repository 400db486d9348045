#include "vk_runtime/device_choice.hpp"

#include <fmt/format.h>
#include <volk.h>

#include <algorithm>
#include <charconv>

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
    {&DeviceFeatures::scalar_block_layout, "scalarBlockLayout"},
};

/// Formats without which no pass of the graphics path can run: hash images and row images.
constexpr PixelFormat kRequiredFormats[] = {PixelFormat::r32_uint, PixelFormat::r32g32_uint,
                                            PixelFormat::r32g32b32a32_uint};

/// The least that garuda's images, results and scans are sized for. Vulkan guarantees each or more on a conformant
/// device.
constexpr std::uint32_t kMinRenderExtent = 4096;
constexpr std::uint32_t kMinWorkgroupInvocations = 128;
constexpr std::uint32_t kMinPushConstantsBytes = 128;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// Smaller is better.
int rank(DeviceType type) {
  switch (type) {
    case DeviceType::discrete:
      return 0;
    case DeviceType::integrated:
      return 1;
    case DeviceType::virtual_gpu:
      return 2;
    case DeviceType::other:
      return 3;
    case DeviceType::cpu:
      break;
  }
  return 4;
}

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

/// Devices that are usable, and why the others are not.
struct Survey {
  std::vector<std::uint32_t> usable;
  std::vector<RejectedDevice> rejected;
};

Survey survey(std::span<DeviceTraits const> devices) {
  Survey result;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (auto reason = unusable_reason(devices[i])) {
      result.rejected.push_back({i, devices[i].name, std::move(*reason)});
    } else {
      result.usable.push_back(i);
    }
  }
  return result;
}

tl::unexpected<Error> refuse(ErrorCode code, std::string message, std::vector<RejectedDevice> const& rejected) {
  std::string reasons;
  for (RejectedDevice const& device : rejected) {
    reasons +=
        fmt::format("{}device {} ({}): {}", reasons.empty() ? "" : "; ", device.index, device.name, device.reason);
  }
  if (reasons.empty()) return fail(code, std::move(message));
  return tl::unexpected<Error>(Error(code, std::move(reasons)).wrap(std::move(message)));
}

/// Completes a choice: every device but `index` gets a reason.
DeviceChoice choose(std::span<DeviceTraits const> devices, std::uint32_t index, std::string reason, Survey survey,
                    std::string const& why_not_others) {
  for (std::uint32_t other : survey.usable) {
    if (other != index) survey.rejected.push_back({other, devices[other].name, why_not_others});
  }
  std::ranges::sort(survey.rejected, {}, &RejectedDevice::index);
  return {index, std::move(reason), std::move(survey.rejected)};
}

Result<DeviceChoice> choose_auto(std::span<DeviceTraits const> devices, Survey found, ChoiceOptions const& options) {
  if (!options.allow_software) {
    std::erase_if(found.usable, [&](std::uint32_t i) {
      if (devices[i].type != DeviceType::cpu) return false;
      found.rejected.push_back({i, devices[i].name, "a software device, which auto does not choose here"});
      return true;
    });
    std::ranges::sort(found.rejected, {}, &RejectedDevice::index);
  }
  if (found.usable.empty()) return refuse(ErrorCode::no_device, "no usable Vulkan device", found.rejected);
  auto const better = [&](std::uint32_t a, std::uint32_t b) { return rank(devices[a].type) < rank(devices[b].type); };
  std::uint32_t const best = *std::ranges::min_element(found.usable, better);
  std::string const kind(to_string(devices[best].type));
  return choose(devices, best, fmt::format("the first {} device", kind), std::move(found),
                fmt::format("auto prefers device {}, a {} device", best, kind));
}

Result<DeviceChoice> choose_index(std::span<DeviceTraits const> devices, std::uint32_t index, Survey found) {
  if (index >= devices.size()) {
    return refuse(ErrorCode::no_device,
                  fmt::format("no Vulkan device with index {}: there are {}", index, devices.size()), {});
  }
  auto const rejected = std::ranges::find(found.rejected, index, &RejectedDevice::index);
  if (rejected != found.rejected.end()) {
    return refuse(ErrorCode::no_device, fmt::format("Vulkan device {} cannot be used", index), {*rejected});
  }
  return choose(devices, index, "asked for by index", std::move(found), "another device was asked for");
}

Result<DeviceChoice> choose_name(std::span<DeviceTraits const> devices, std::string const& name, Survey found) {
  auto const matches = [&](std::uint32_t i) { return lower(devices[i].name).find(lower(name)) != std::string::npos; };
  std::vector<std::uint32_t> fitting;
  std::ranges::copy_if(found.usable, std::back_inserter(fitting), matches);
  if (fitting.empty()) {
    std::vector<RejectedDevice> reasons;
    for (RejectedDevice const& device : found.rejected) {
      if (matches(device.index)) reasons.push_back(device);
    }
    for (std::uint32_t i : found.usable) reasons.push_back({i, devices[i].name, "another name"});
    std::ranges::sort(reasons, {}, &RejectedDevice::index);
    return refuse(ErrorCode::no_device, fmt::format("no usable Vulkan device with this name: {}", name), reasons);
  }
  std::uint32_t const first = fitting.front();
  for (std::uint32_t other : fitting) {
    if (devices[other].name != devices[first].name) {
      return fail(ErrorCode::usage, fmt::format("device name fits both \"{}\" and \"{}\": {}", devices[first].name,
                                                devices[other].name, name));
    }
  }
  return choose(devices, first, "asked for by name", std::move(found), "another device was asked for");
}

}  // namespace

DeviceRequest parse_device_request(std::string_view text) {
  if (text == "auto") return AutoDevice{};
  std::uint32_t index = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc{} && end == text.data() + text.size()) return index;
  return std::string(text);
}

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

Result<DeviceChoice> choose_device(std::span<DeviceTraits const> devices, DeviceRequest const& request,
                                   ChoiceOptions const& options) {
  if (devices.empty()) return fail(ErrorCode::no_device, "no Vulkan device on this machine");
  Survey found = survey(devices);
  if (auto const* index = std::get_if<std::uint32_t>(&request)) return choose_index(devices, *index, std::move(found));
  if (auto const* name = std::get_if<std::string>(&request)) return choose_name(devices, *name, std::move(found));
  return choose_auto(devices, std::move(found), options);
}

}  // namespace garuda::vk
