#include "vk_runtime/device/instance.hpp"

#include "tests/test_run.hpp"
#include "tests/vk_runtime/device_fixture.hpp"

namespace garuda::vk {
namespace {

class InstanceTest : public DeviceTest {};

TEST_F(InstanceTest, TraitsDescribeTheDriverOfThisRun) {
  DeviceTraits const& traits = device_->traits();
  if (testing::is_driver("lavapipe")) {
    EXPECT_EQ(traits.driver_name, "llvmpipe");
    EXPECT_EQ(traits.type, DeviceType::cpu);
    EXPECT_EQ(traits.limits.max_storage_buffer_range, std::uint64_t{128} << 20);
    EXPECT_TRUE(traits.features.shader_int64);
  }
  if (testing::is_driver("swiftshader")) {
    EXPECT_THAT(traits.driver_name, ::testing::HasSubstr("SwiftShader"));
    EXPECT_EQ(traits.max_render_extent(), 8'192U);
    EXPECT_EQ(traits.subgroup.size, 4U);
    EXPECT_FALSE(traits.features.shader_int64);
    EXPECT_THAT(traits.missing_optional, ::testing::Contains("shaderInt64"));
  }
  if (traits.type == DeviceType::cpu) {
    EXPECT_TRUE(traits.unified_memory);
  }
  EXPECT_TRUE(traits.format(PixelFormat::r32_sfloat).blend);
  EXPECT_TRUE(traits.format(PixelFormat::r32g32_uint).color_attachment);
  EXPECT_GE(traits.limits.max_color_attachments, 4U);
  EXPECT_GT(traits.limits.timestamp_period_ns, 0.0);
  EXPECT_GT(traits.device_local_bytes(), 0U);
  auto const again = query_device(physical_.handle);
  EXPECT_EQ(traits, again.traits);
  EXPECT_EQ(physical_.extensions, again.extensions);
}

/// A program may make an engine for every query: loaders that unload drivers in between fail after some 27.
TEST(Instance, CanBeCreatedAgainAndAgain) {
  for (int i = 0; i < 64; ++i) {
    auto const instance = Instance::create();
    ASSERT_TRUE(instance) << i << ": " << instance.error().describe();
    ASSERT_TRUE((*instance)->physical_devices()) << i;
  }
}

TEST_F(InstanceTest, DevicesLiveSideBySide) {
  auto const second_instance = value_of(Instance::create());
  auto const physical = value_of(second_instance->physical_devices());
  auto const second = value_of(Device::create(*second_instance, physical[0]));
  auto const lane = value_of(Lane::create(*second, {}));
  auto const data = pattern(1'000);
  for (Lane* each : {lane_.get(), lane.get()}) {
    Buffer const buffer = value_of(each->arena().buffer({.bytes = data.size()}));
    Ticket const uploaded = value_of(each->transfer().upload(buffer, 0, data));
    std::vector<std::byte> back(data.size());
    ASSERT_TRUE(each->transfer().download(buffer, 0, back, uploaded));
    EXPECT_EQ(back, data);
  }
  EXPECT_TRUE(second_instance->validation_messages().empty());
  EXPECT_TRUE(device_->wait_idle());
}

TEST_F(InstanceTest, UnusableDevicesAreNotOpened) {
  PhysicalDevice broken = physical_;
  broken.traits.features.timeline_semaphore = false;
  auto const device = Device::create(*instance_, broken);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), ErrorCode::no_device);
  EXPECT_THAT(device.error().message(), ::testing::HasSubstr("timelineSemaphore"));
}

}  // namespace
}  // namespace garuda::vk
