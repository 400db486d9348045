// The layer under the entries of profiles: garuda and the validation layer see the profile, layer-test.json.
#include <vector>

#include "tests/vk_runtime/device_fixture.hpp"

namespace garuda::vk {
namespace {

using ProfileLayer = DeviceTest;

TEST_F(ProfileLayer, ShowsTheProfile) {
  auto const& traits = device_->traits();
  EXPECT_EQ(traits.type, DeviceType::integrated);
  EXPECT_EQ(traits.limits.max_workgroup_invocations, 256U) << "the least of both limits";
  EXPECT_EQ(traits.limits.max_compute_shared_memory_bytes, 40'960U) << "more than the driver's";
  EXPECT_LT(traits.limits.max_push_constants_bytes, 4'096U) << "the driver's";
  EXPECT_EQ(traits.limits.max_per_stage_storage_buffers, 5U);
  EXPECT_EQ(traits.limits.min_storage_buffer_offset_alignment, 256U);
  EXPECT_FALSE(traits.features.shader_float64);
  EXPECT_TRUE(traits.features.shader_int64);
  EXPECT_FALSE(traits.features.buffer_device_address);
  EXPECT_FALSE(traits.features.memory_budget);
  EXPECT_FALSE(traits.format(PixelFormat::r32_sfloat).blend);
  EXPECT_TRUE(traits.format(PixelFormat::r32g32_sfloat).blend);
}

/// Six storage buffers are fewer than the driver takes, which is asked all the same.
TEST_F(ProfileLayer, LiesBelowTheValidationLayer) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (std::uint32_t i = 0; i < 6; ++i) {
    bindings.push_back({.binding = i,
                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT});
  }
  VkDescriptorSetLayoutCreateInfo const set_info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = static_cast<std::uint32_t>(bindings.size()),
                                                 .pBindings = bindings.data()};
  auto const& fn = device_->fn();
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  ASSERT_EQ(fn.vkCreateDescriptorSetLayout(device_->handle(), &set_info, nullptr, &set), VK_SUCCESS);
  VkPipelineLayoutCreateInfo const info{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set};
  VkPipelineLayout layout = VK_NULL_HANDLE;
  ASSERT_EQ(fn.vkCreatePipelineLayout(device_->handle(), &info, nullptr, &layout), VK_SUCCESS);
  EXPECT_THAT(instance_->validation_messages(),
              ::testing::Contains(::testing::HasSubstr("maxPerStageDescriptorStorageBuffers limit (5)")));
  instance_->clear_validation_messages();
  fn.vkDestroyPipelineLayout(device_->handle(), layout, nullptr);
  fn.vkDestroyDescriptorSetLayout(device_->handle(), set, nullptr);
}

}  // namespace
}  // namespace garuda::vk
