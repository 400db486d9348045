// A device that planners are tested on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operators/plan/path_choice.hpp"
#include "operators/rates/calibrations.hpp"

namespace garuda::testing {

/// Usable as it stands; tests take from its traits what they want to be missing.
struct FakeDevice {
  DeviceInfo info;
  vk::DeviceTraits traits;

  explicit FakeDevice(vk::DeviceType type, bool usable = true) {
    traits.name = std::string("fake ") + std::string(to_string(type));
    traits.type = type;
    traits.api_version = (1U << 22) | (3U << 12);
    traits.features.dynamic_rendering = traits.features.synchronization2 = traits.features.maintenance4 =
        traits.features.timeline_semaphore = true;
    traits.features.buffer_device_address = true;
    auto& subgroup = traits.subgroup;
    subgroup.size = subgroup.min_size = subgroup.max_size = 32;
    subgroup.stages.compute = subgroup.basic = subgroup.vote = subgroup.arithmetic = subgroup.ballot = true;
    traits.formats.fill({true, true, true, true});
    traits.limits.max_image_2d = traits.limits.max_framebuffer_width = traits.limits.max_framebuffer_height = 16'384;
    traits.limits.max_viewport = {16'384, 16'384};
    traits.limits.max_image_array_layers = 2048;
    traits.limits.max_storage_buffer_range = 1U << 30;
    traits.limits.max_workgroup_invocations = 256;
    traits.limits.max_workgroup_count = {65'535, 65'535, 65'535};
    traits.limits.max_compute_shared_memory_bytes = 32'768;
    traits.limits.max_push_constants_bytes = 128;
    traits.limits.max_color_attachments = 8;
    traits.limits.max_per_stage_storage_buffers = traits.limits.max_per_stage_sampled_images =
        traits.limits.max_per_stage_storage_images = 64;
    traits.limits.max_per_stage_resources = 256;
    traits.limits.point_size_range = {1.0F, 64.0F};
    traits.heaps = {{std::uint64_t{8} << 30, true}};
    traits.memory_types = {{0, true, true, true, true}};
    traits.queue_families = {{0, 1, true, true, true, false, 64}};
    info.name = traits.name;
    info.kind = type;
    info.memory_bytes = traits.device_local_bytes();
    info.usable = usable;
    if (!usable) info.reason = "no Vulkan 1.3";
  }

  contract::DeviceFacts facts() const { return {&info, &traits, std::nullopt}; }
};

/// One device, never opened.
class OneDevice final : public contract::DeviceSet {
 public:
  explicit OneDevice(vk::DeviceType type) : device_(type) {
    device_.info.unified_memory = type != vk::DeviceType::discrete;
    device_.traits.limits.max_buffer_size = device_.traits.limits.max_memory_allocation_size = std::uint64_t{4} << 30;
    infos_.push_back(device_.info);
  }
  std::span<DeviceInfo const> devices() const noexcept override { return infos_; }
  vk::DeviceTraits const* vulkan_traits(std::size_t) const override { return &device_.traits; }
  rates::CalibrationStore const& calibrations() const noexcept override { return store_; }
  Result<contract::OpenDevice*> open(std::size_t) override {
    return fail(ErrorCode::no_device, "a device for planning only");
  }

 private:
  FakeDevice device_;
  std::vector<DeviceInfo> infos_;
  std::array<vk::DeviceTraits const*, 1> traits_{&device_.traits};
  rates::CalibrationStore store_{std::nullopt, traits_};
};

}  // namespace garuda::testing
