#include "vk_runtime/device/device_traits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/vk_runtime/fake_traits.hpp"

namespace garuda::vk {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(DeviceTraits, TimestampsOfOldLlvmpipeAreUnreliable) {
  DeviceTraits traits = usable_traits("llvmpipe", DeviceType::cpu);
  traits.driver_id = VK_DRIVER_ID_MESA_LLVMPIPE;
  for (char const* wrong : {"Mesa 22.3.6 (LLVM 15.0.6)", "Mesa 25.0.6", "no version"}) {
    traits.driver_info = wrong;
    derive_traits(traits);
    EXPECT_FALSE(traits.timestamps_reliable) << wrong;
    ASSERT_EQ(traits.quirks.size(), 1U);
    EXPECT_EQ(traits.quirks[0].what, kTimestampQuirk);
  }
  for (char const* right : {"Mesa 25.0.7", "Mesa 25.1.0-devel", "Mesa 26.0.0 (LLVM 20)"}) {
    traits.driver_info = right;
    derive_traits(traits);
    EXPECT_TRUE(traits.timestamps_reliable) << right;
    EXPECT_TRUE(traits.quirks.empty());
  }
  traits.driver_info = "Mesa 22.3.6";
  traits.driver_id = VK_DRIVER_ID_MESA_RADV;
  derive_traits(traits);
  EXPECT_TRUE(traits.timestamps_reliable);
}

TEST(DeviceTraits, SwiftShaderIsGivenSpecializedCode) {
  DeviceTraits traits = usable_traits("SwiftShader Device (Subzero)", DeviceType::cpu);
  EXPECT_FALSE(traits.has_quirk(kSpecializationQuirk));
  traits.driver_id = VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  derive_traits(traits);
  EXPECT_TRUE(traits.has_quirk(kSpecializationQuirk));
}

TEST(DeviceTraits, TimestampsNeedAPeriodAndValidBits) {
  DeviceTraits traits = usable_traits("a", DeviceType::discrete);
  EXPECT_TRUE(traits.timestamps_reliable);
  traits.queue_families[0].timestamp_valid_bits = 0;
  derive_traits(traits);
  EXPECT_FALSE(traits.timestamps_reliable);
}

TEST(DeviceTraits, MissingOptionalFeaturesAreListed) {
  DeviceTraits traits = usable_traits("a", DeviceType::discrete);
  EXPECT_THAT(traits.missing_optional, Contains("shaderInt64"));
  EXPECT_THAT(traits.missing_optional, Not(Contains("blending of R32_SFLOAT")));
  traits.features.shader_int64 = true;
  traits.formats[static_cast<std::size_t>(PixelFormat::r32_sfloat)].blend = false;
  traits.formats[static_cast<std::size_t>(PixelFormat::r32_uint)].blend = false;
  derive_traits(traits);
  EXPECT_THAT(traits.missing_optional, Not(Contains("shaderInt64")));
  EXPECT_THAT(traits.missing_optional, Contains("blending of R32_SFLOAT"));
  EXPECT_THAT(traits.missing_optional, Not(Contains("blending of R32_UINT")));  // integers never blend
}

TEST(DeviceTraits, Float64IsExactWhereItsRoundingIsPromised) {
  DeviceFeatures features;
  features.shader_float64 = true;
  EXPECT_FALSE(features.exact_float64());
  features.rounds_float64 = true;
  EXPECT_TRUE(features.exact_float64());
  features.shader_float64 = false;
  EXPECT_FALSE(features.exact_float64());
}

TEST(DeviceTraits, UnifiedMemoryIsAllDeviceLocal) {
  DeviceTraits traits = usable_traits("a", DeviceType::integrated);
  EXPECT_TRUE(traits.unified_memory);
  EXPECT_TRUE(traits.device_memory_mappable());
  traits.heaps.push_back({std::uint64_t{64} << 30, false});
  derive_traits(traits);
  EXPECT_FALSE(traits.unified_memory);
  EXPECT_EQ(traits.device_local_bytes(), std::uint64_t{8} << 30);
  // A small window into device memory (without resizable BAR) does not make it mappable.
  traits.heaps.push_back({std::uint64_t{256} << 20, true});
  traits.memory_types[0].heap = 2;
  EXPECT_FALSE(traits.device_memory_mappable());
}

TEST(DeviceTraits, RenderExtentIsTheSmallestOfItsLimits) {
  EXPECT_EQ(usable_traits("a", DeviceType::cpu).max_render_extent(), 8'192U);
}

TEST(DeviceTraits, AreComparable) {
  DeviceTraits const a = usable_traits("a", DeviceType::cpu);
  DeviceTraits b = a;
  EXPECT_EQ(a, b);
  b.limits.max_color_attachments += 1;
  EXPECT_NE(a, b);
}

TEST(DeviceTraits, PointsPerSubmissionFollowTheDeviceType) {
  EXPECT_GT(default_max_points_per_submission(DeviceType::discrete),
            default_max_points_per_submission(DeviceType::integrated));
  EXPECT_GT(default_max_points_per_submission(DeviceType::integrated),
            default_max_points_per_submission(DeviceType::cpu));
  auto traits = usable_traits("SwiftShader", DeviceType::cpu);
  traits.driver_id = VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  derive_traits(traits);
  EXPECT_EQ(traits.max_points_per_submission, default_max_points_per_submission(DeviceType::cpu) / 4);
}

}  // namespace
}  // namespace garuda::vk
