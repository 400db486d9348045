// Every pipeline that the graphics join can create compiles on the driver of this process; nothing is submitted, so it
// runs on RADV's null device, too.
#include <gtest/gtest.h>

#include <set>

#include "operators/graphics/join/join_pipelines.hpp"
#include "tests/graphics/graphics_device.hpp"

namespace garuda::graphics {
namespace {

using GraphicsPipelines = testing::GraphicsDeviceTest;

TEST_F(GraphicsPipelines, AllCompile) {
  auto const specs = graphics_join_pipelines();
  EXPECT_GE(specs.size(), kJoinPasses);
  std::set<vk::Pipeline const*> pipelines;
  for (auto const& spec : specs) {
    auto const pipeline = std::visit([&](auto const& concrete) { return store().compile(concrete); }, spec);
    ASSERT_TRUE(pipeline) << pipeline.error().describe();
    pipelines.insert(*pipeline);
  }
  EXPECT_EQ(pipelines.size(), specs.size());
}

}  // namespace
}  // namespace garuda::graphics
