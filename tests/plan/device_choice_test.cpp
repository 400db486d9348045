// The device that a caller's words mean.
#include "operators/plan/path_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace garuda::plan {
namespace {

using ::testing::HasSubstr;

DeviceInfo device(std::string name, DeviceKind kind) {
  DeviceInfo info;
  info.name = std::move(name);
  info.kind = kind;
  info.usable = true;
  return info;
}

std::vector<DeviceInfo> one_of_each() {
  return {device("llvmpipe", DeviceKind::cpu), device("Iris", DeviceKind::integrated),
          device("Radeon", DeviceKind::discrete), device("Venus", DeviceKind::virtual_gpu)};
}

Result<std::size_t> choose(std::vector<DeviceInfo> const& devices, std::string_view request,
                           DeviceApi api = DeviceApi::vulkan) {
  std::vector<DeviceInfo const*> all;
  for (auto const& info : devices) all.push_back(&info);
  return choose_device(all, request, api);
}

TEST(DeviceChoice, AutoPrefersDiscreteThenIntegratedThenVirtualThenCpu) {
  auto devices = one_of_each();
  for (char const* expected : {"Radeon", "Iris", "Venus", "llvmpipe"}) {
    auto const choice = choose(devices, "auto");
    ASSERT_TRUE(choice) << choice.error().describe();
    EXPECT_EQ(devices[*choice].name, expected);
    devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(*choice));
  }
  auto const none = choose(devices, "auto");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::no_device);
}

TEST(DeviceChoice, FirstOfEqualKindsIsChosen) {
  EXPECT_EQ(*choose({device("a", DeviceKind::discrete), device("b", DeviceKind::discrete)}, "auto"), 0U);
}

TEST(DeviceChoice, WhatIsNotUsableIsRefusedWithItsReason) {
  auto devices = one_of_each();
  devices[2].usable = false;
  devices[2].reason = "no Vulkan 1.3: 1.1.0";
  EXPECT_EQ(*choose(devices, "auto"), 1U);
  for (auto const* const request : {"2", "radeon"}) {
    auto const refused = choose(devices, request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
    EXPECT_THAT(refused.error().describe(), HasSubstr(devices[2].reason));
  }
}

TEST(DeviceChoice, IndexPastTheEndIsAnError) {
  auto const choice = choose(one_of_each(), "4");
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), ErrorCode::no_device);
  EXPECT_THAT(choice.error().message(), HasSubstr("index 4"));
}

TEST(DeviceChoice, NameIsMatchedInPartsWithoutCase) {
  EXPECT_EQ(*choose(one_of_each(), "ADEO"), 2U);
  auto const unknown = choose(one_of_each(), "GeForce");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().describe(), HasSubstr("GeForce"));
  EXPECT_THAT(unknown.error().describe(), HasSubstr("Iris"));
}

TEST(DeviceChoice, NameThatFitsDifferentDevicesIsAmbiguous) {
  std::vector devices{device("Radeon 1", DeviceKind::discrete), device("Radeon 2", DeviceKind::discrete)};
  auto const choice = choose(devices, "radeon");
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), ErrorCode::usage);
  // Two of the same name are not ambiguous: either will do.
  devices[1].name = devices[0].name;
  EXPECT_EQ(*choose(devices, "radeon"), 0U);
}

TEST(DeviceChoice, WhatIsNoIndexIsAName) {
  for (auto const* const request : {"12a", "99999999999"}) {
    auto const refused = choose(one_of_each(), request);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("with this name"));
  }
}

TEST(DeviceChoice, DevicesOfAnotherApiAreNotMeant) {
  auto devices = one_of_each();
  EXPECT_EQ(choose(devices, "auto", DeviceApi::cuda).error().code(), ErrorCode::no_device);
  devices[3].api = DeviceApi::cuda;
  devices[3].same_gpu = 2;
  EXPECT_EQ(*choose(devices, "auto", DeviceApi::cuda), 3U);
  EXPECT_EQ(*choose(devices, "2", DeviceApi::cuda), 3U) << "the same GPU";
  EXPECT_FALSE(choose(devices, "0", DeviceApi::cuda));
  EXPECT_FALSE(choose(devices, "3"));
}

}  // namespace
}  // namespace garuda::plan
