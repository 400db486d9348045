#include "vk_runtime/device_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/vk_runtime/fake_traits.hpp"

namespace garuda::vk {
namespace {

using ::testing::HasSubstr;

std::vector<DeviceTraits> one_of_each() {
  return {usable_traits("llvmpipe", DeviceType::cpu), usable_traits("Iris", DeviceType::integrated),
          usable_traits("Radeon", DeviceType::discrete), usable_traits("Venus", DeviceType::virtual_gpu)};
}

TEST(DeviceChoice, AutoPrefersDiscreteThenIntegratedThenVirtualThenCpu) {
  std::vector<DeviceTraits> devices = one_of_each();
  for (char const* expected : {"Radeon", "Iris", "Venus", "llvmpipe"}) {
    auto const choice = choose_device(devices, AutoDevice{});
    ASSERT_TRUE(choice) << choice.error().describe();
    EXPECT_EQ(devices[choice->index].name, expected);
    EXPECT_EQ(choice->rejected.size(), devices.size() - 1);
    for (RejectedDevice const& rejected : choice->rejected) EXPECT_THAT(rejected.reason, HasSubstr("auto prefers"));
    devices.erase(devices.begin() + choice->index);
  }
  auto const none = choose_device(devices, AutoDevice{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::no_device);
}

TEST(DeviceChoice, FirstOfEqualTypesIsChosen) {
  std::vector<DeviceTraits> const devices{usable_traits("a", DeviceType::discrete),
                                          usable_traits("b", DeviceType::discrete)};
  EXPECT_EQ(choose_device(devices, AutoDevice{})->index, 0U);
}

TEST(DeviceChoice, SoftwareDevicesCanBeLeftOutOfAuto) {
  std::vector<DeviceTraits> const devices{usable_traits("llvmpipe", DeviceType::cpu)};
  auto const refused = choose_device(devices, AutoDevice{}, {.allow_software = false});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().describe(), HasSubstr("software device"));
  // Asked for by index or name, it is taken all the same.
  EXPECT_TRUE(choose_device(devices, std::uint32_t{0}, {.allow_software = false}));
  EXPECT_TRUE(choose_device(devices, std::string("LLVM"), {.allow_software = false}));
}

struct Defect {
  char const* reason;
  std::function<void(DeviceTraits&)> apply;
};

class UnusableDevice : public ::testing::TestWithParam<Defect> {};

TEST_P(UnusableDevice, IsRejectedWithItsReason) {
  std::vector<DeviceTraits> devices = one_of_each();
  GetParam().apply(devices[2]);
  auto const reason = unusable_reason(devices[2]);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr(GetParam().reason));

  auto const choice = choose_device(devices, AutoDevice{});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->index, 1U);
  EXPECT_EQ(choice->rejected[1].index, 2U);
  EXPECT_EQ(choice->rejected[1].reason, *reason);

  for (DeviceRequest const& request : {DeviceRequest(std::uint32_t{2}), DeviceRequest(std::string("radeon"))}) {
    auto const refused = choose_device(devices, request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
    EXPECT_THAT(refused.error().describe(), HasSubstr(*reason));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , UnusableDevice,
    ::testing::Values(
        Defect{"no Vulkan 1.3: 1.1.0", [](DeviceTraits& device) { device.api_version = VK_API_VERSION_1_1; }},
        Defect{"dynamicRendering", [](DeviceTraits& device) { device.features.dynamic_rendering = false; }},
        Defect{"synchronization2", [](DeviceTraits& device) { device.features.synchronization2 = false; }},
        Defect{"maintenance4", [](DeviceTraits& device) { device.features.maintenance4 = false; }},
        Defect{"timelineSemaphore", [](DeviceTraits& device) { device.features.timeline_semaphore = false; }},
        Defect{"scalarBlockLayout", [](DeviceTraits& device) { device.features.scalar_block_layout = false; }},
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

TEST(DeviceChoice, IndexPastTheEndIsAnError) {
  auto const choice = choose_device(one_of_each(), std::uint32_t{4});
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), ErrorCode::no_device);
  EXPECT_THAT(choice.error().message(), HasSubstr("index 4"));
}

TEST(DeviceChoice, NameIsMatchedInPartsWithoutCase) {
  auto const devices = one_of_each();
  EXPECT_EQ(choose_device(devices, std::string("ADEO"))->index, 2U);
  auto const unknown = choose_device(devices, std::string("GeForce"));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().describe(), HasSubstr("GeForce"));
  EXPECT_THAT(unknown.error().describe(), HasSubstr("Iris"));
}

TEST(DeviceChoice, NameThatFitsDifferentDevicesIsAmbiguous) {
  std::vector<DeviceTraits> devices{usable_traits("Radeon 1", DeviceType::discrete),
                                    usable_traits("Radeon 2", DeviceType::discrete)};
  auto const choice = choose_device(devices, std::string("radeon"));
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), ErrorCode::usage);
  // Two of the same name are not ambiguous: either will do.
  devices[1].name = devices[0].name;
  EXPECT_EQ(choose_device(devices, std::string("radeon"))->index, 0U);
}

TEST(DeviceChoice, RequestsAreReadFromText) {
  EXPECT_EQ(parse_device_request("auto"), DeviceRequest(AutoDevice{}));
  EXPECT_EQ(parse_device_request("12"), DeviceRequest(std::uint32_t{12}));
  EXPECT_EQ(parse_device_request("12a"), DeviceRequest(std::string("12a")));
  EXPECT_EQ(parse_device_request("99999999999"), DeviceRequest(std::string("99999999999")));
  EXPECT_EQ(parse_device_request(""), DeviceRequest(std::string()));
}

}  // namespace
}  // namespace garuda::vk
