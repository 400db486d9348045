// Drivers that compile but do not execute (RADV's null device): every pipeline of the graphics group-by has to compile.
#include <gtest/gtest.h>

#include <variant>

#include "operators/graphics/group_by/group_by_pipelines.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/instance.hpp"

namespace garuda::graphics {
namespace {

TEST(GraphicsGroupByPipelines, Compile) {
  vk::InstanceOptions options;
  options.validation = true;
  auto const instance = vk::Instance::create(options);
  ASSERT_TRUE(instance) << instance.error().describe();
  auto const devices = (*instance)->physical_devices();
  ASSERT_TRUE(devices) << devices.error().describe();
  {
    auto const device = vk::Device::create(**instance, devices->front());
    ASSERT_TRUE(device) << device.error().describe();
    auto const store = vk::PipelineStore::create(**device, std::nullopt);
    ASSERT_TRUE(store) << store.error().describe();
    auto const specs = graphics_group_by_pipelines((*device)->traits().limits.max_color_attachments);
    ASSERT_GT(specs.size(), kGroupPasses);
    for (auto const& spec : specs) {
      auto const compiled = std::visit([&](auto const& concrete) { return (*store)->compile(concrete); }, spec);
      EXPECT_TRUE(compiled) << compiled.error().describe();
    }
  }
  EXPECT_TRUE((*instance)->validation_messages().empty()) << (*instance)->validation_messages().front();
}

}  // namespace
}  // namespace garuda::graphics
