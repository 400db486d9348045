// Every pipeline of the compute path compiles on the driver of this process, at each subgroup size it offers; nothing
// is submitted, so it runs on RADV's null devices, too.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/compute/expressions/expression_pass.hpp"
#include "operators/compute/group_by/column_group_by.hpp"
#include "operators/compute/group_by/compute_group_by.hpp"
#include "operators/compute/group_by/device_keys.hpp"
#include "operators/compute/group_by/resident_group_by.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "tests/compute/compute_device.hpp"
#include "tests/graphics/pipeline_figures.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::compute {
namespace {

using ComputePipelines = testing::ComputeDeviceTest;

class PipelinesOfSubgroups : public ComputePipelines, public ::testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Sizes, PipelinesOfSubgroups, ::testing::Values(4, 8, 16, 32, 64, 128),
                         ::testing::PrintToStringParamName());

TEST_F(ComputePipelines, HaveASubgroupSize) { EXPECT_FALSE(subgroup_sizes().empty()); }

/// Sizes that the device does not give are skipped, with those that it gives.
TEST_P(PipelinesOfSubgroups, AllCompile) {
  auto const of_size = compute_tuning(device().traits(), GetParam());
  if (!of_size) GTEST_SKIP() << of_size.error().describe();
  auto const& tuning = *of_size;
  testing::PipelineFigures figures(device(), store());
  std::set<vk::Pipeline const*> pipelines;
  std::size_t described = 0;
  auto const compile = [&](char const* family, std::vector<vk::ComputePipelineSpec> const& specs) {
    for (auto const& spec : specs) pipelines.insert(figures.compile(family, spec));
    described += specs.size();
  };
  compile("compute join", join_compute_pipelines(tuning));
  compile("primitives", primitive_pipelines(tuning));
  compile("rows of groups", RowGroups::pipelines(tuning));
  compile("states of slices", slice_states_pipelines(tuning));
  compile("resident group-by", resident_group_by_pipelines(tuning));
  compile("group-by of columns", column_group_by_pipelines(tuning));
  compile("conditions", condition_join_pipelines(tuning));
  auto by_integers = tuning;
  by_integers.native_floats = false;
  compile("expressions", expression_pipelines(by_integers));
  if (tuning.native_floats) compile("expressions", expression_pipelines(tuning));
  compile("strings", string_pipelines(tuning));
  EXPECT_EQ(pipelines.size(), described);
  EXPECT_GT(described, 40U);
}

}  // namespace
}  // namespace garuda::compute
