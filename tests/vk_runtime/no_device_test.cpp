// A machine with a Vulkan loader and no driver.
#include <gtest/gtest.h>

#include "vk_runtime/device/instance.hpp"

namespace garuda::vk {
namespace {

TEST(NoDevice, IsAnErrorThatSaysSo) {
  auto const instance = Instance::create();
  if (!instance) {
    EXPECT_EQ(instance.error().code(), ErrorCode::no_device);
    return;
  }
  // Some loaders create an instance all the same.
  auto const devices = (*instance)->physical_devices();
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().code(), ErrorCode::no_device);
}

}  // namespace
}  // namespace garuda::vk
