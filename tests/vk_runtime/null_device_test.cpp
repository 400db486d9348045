// Drivers that compile but do not execute (RADV's null device): nothing here submits.
#include "tests/test_run.hpp"
#include "tests/vk_runtime/device_fixture.hpp"
#include "vk_runtime/pipelines.hpp"
#include "vk_runtime_test_shaders.hpp"

namespace garuda::vk {
namespace {

TEST(NullDevice, OpensAndCompiles) {
  auto const instance = value_of(Instance::create({.validation = testing::with_validation()}));
  auto const devices = value_of(instance->physical_devices());
  ASSERT_FALSE(devices.empty());
  DeviceTraits const& traits = devices[0].traits;
  EXPECT_THAT(traits.driver_name, ::testing::HasSubstr("radv"));
  ASSERT_EQ(unusable_reason(traits), std::nullopt);
  {
    auto const device = value_of(Device::create(*instance, devices[0]));
    auto const store = value_of(PipelineStore::create(*device, std::nullopt));
    ASSERT_TRUE(traits.features.pipeline_executable_properties);
    store->keep_statistics();
    auto const* const compute =
        value_of(store->compile(ComputePipelineSpec{.compute = test_shaders::get("group_ids.comp"),
                                                    .bindings = {{0, BindingKind::storage_buffer}},
                                                    .push_bytes = 4}));
    auto const programs = value_of(executables(*device, *compute));
    ASSERT_EQ(programs.size(), 1U);
    EXPECT_EQ(programs[0].stages, VK_SHADER_STAGE_COMPUTE_BIT);
    EXPECT_THAT(programs[0].subgroup_size, ::testing::AnyOf(32U, 64U));
    EXPECT_GT(programs[0].statistics.at("VGPRs"), 0);
    EXPECT_EQ(programs[0].statistics.at("Spilled VGPRs"), 0);
    EXPECT_TRUE(store->compile(GraphicsPipelineSpec{.vertex = test_shaders::get("points.vert"),
                                                    .fragment = test_shaders::get("value_uint.frag"),
                                                    .push_bytes = 8,
                                                    .targets = {{VK_FORMAT_R32G32_UINT, Blend::none}}}));
    EXPECT_TRUE(store->compile(GraphicsPipelineSpec{.vertex = test_shaders::get("points.vert"),
                                                    .fragment = test_shaders::get("value_float.frag"),
                                                    .push_bytes = 8,
                                                    .targets = {{VK_FORMAT_R32_SFLOAT, Blend::add}}}));
    EXPECT_EQ(store->size(), 3U);
  }
  EXPECT_THAT(instance->validation_messages(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace garuda::vk
