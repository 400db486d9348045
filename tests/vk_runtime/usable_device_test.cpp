#include "vk_runtime/device/device_traits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/vk_runtime/fake_traits.hpp"

namespace garuda::vk {
namespace {

using ::testing::HasSubstr;

struct Defect {
  char const* reason;
  std::function<void(DeviceTraits&)> apply;
};

class UnusableDevice : public ::testing::TestWithParam<Defect> {};

TEST_P(UnusableDevice, IsRejectedWithItsReason) {
  auto device = usable_traits("Radeon", DeviceType::discrete);
  ASSERT_FALSE(unusable_reason(device));
  GetParam().apply(device);
  auto const reason = unusable_reason(device);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    , UnusableDevice,
    ::testing::Values(
        Defect{"no Vulkan 1.3: 1.1.0", [](DeviceTraits& device) { device.api_version = VK_API_VERSION_1_1; }},
        Defect{"dynamicRendering", [](DeviceTraits& device) { device.features.dynamic_rendering = false; }},
        Defect{"synchronization2", [](DeviceTraits& device) { device.features.synchronization2 = false; }},
        Defect{"maintenance4", [](DeviceTraits& device) { device.features.maintenance4 = false; }},
        Defect{"timelineSemaphore", [](DeviceTraits& device) { device.features.timeline_semaphore = false; }},
        Defect{"no queue with graphics", [](DeviceTraits& device) { device.queue_families[0].graphics = false; }},
        Defect{"R32G32_UINT",
               [](DeviceTraits& device) {
                 device.formats[static_cast<std::size_t>(PixelFormat::r32g32_uint)].color_attachment = false;
               }},
        Defect{"not sampled: R32G32B32A32_UINT",
               [](DeviceTraits& device) {
                 device.formats[static_cast<std::size_t>(PixelFormat::r32g32b32a32_uint)].sampled = false;
               }},
        Defect{"images smaller than 4096x4096: 2048",
               [](DeviceTraits& device) { device.limits.max_framebuffer_width = 2'048; }},
        Defect{"workgroups", [](DeviceTraits& device) { device.limits.max_workgroup_invocations = 64; }},
        Defect{"push constants", [](DeviceTraits& device) { device.limits.max_push_constants_bytes = 64; }},
        Defect{"point size", [](DeviceTraits& device) { device.limits.point_size_range[0] = 2.0F; }}));

}  // namespace
}  // namespace garuda::vk
