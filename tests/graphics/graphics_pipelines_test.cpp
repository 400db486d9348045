// Every pipeline of the graphics path compiles on the driver of this process, without spills where the driver says so;
// nothing is submitted, so it runs on RADV's null devices, too.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "operators/graphics/group_by/group_context.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/rows/drawn_rows.hpp"
#include "tests/graphics/graphics_device.hpp"
#include "tests/graphics/pipeline_figures.hpp"

namespace garuda::graphics {
namespace {

class GraphicsPipelines : public testing::GraphicsDeviceTest {
 protected:
  static void expect_compiled(char const* family, std::vector<PipelineSpec> const& specs) {
    testing::PipelineFigures figures(device(), store());
    std::set<vk::Pipeline const*> pipelines;
    for (auto const& spec : specs) pipelines.insert(figures.compile(family, spec));
    EXPECT_EQ(pipelines.size(), specs.size());
  }
};

TEST_F(GraphicsPipelines, OfJoinsCompile) {
  auto const specs = graphics_join_pipelines();
  EXPECT_GE(specs.size(), kJoinPasses);
  expect_compiled("graphics join", specs);
}

TEST_F(GraphicsPipelines, OfGroupBysCompile) {
  auto const specs = graphics_group_by_pipelines(device().traits().limits.max_color_attachments);
  EXPECT_GT(specs.size(), kGroupPasses);
  expect_compiled("graphics group-by", specs);
}

TEST_F(GraphicsPipelines, OfDrawnRowsCompile) {
  expect_compiled("graphics rows", drawn_row_pipelines(false));
  if (device().traits().features.exact_float64()) expect_compiled("graphics rows", drawn_row_pipelines(true));
}

}  // namespace
}  // namespace garuda::graphics
