// Every pipeline of the compute path compiles on the driver of this process, at each subgroup size it offers; nothing
// is submitted, so it runs on RADV's null device, too.
#include <gtest/gtest.h>

#include <set>

#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/compute/group_by/column_group_by.hpp"
#include "operators/compute/group_by/resident_group_by.hpp"
#include "operators/compute/group_by/row_groups.hpp"
#include "operators/compute/group_by/slice_states.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/strings/string_gather.hpp"
#include "tests/compute/compute_device.hpp"
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
  // Compiling takes RADV's null devices a minute each; VEGA10 has subgroups of 64 alone.
  bool const is_left_to_full = testing::is_driver("radv-navi10") || testing::is_driver("radv-navi21");
  if (is_left_to_full && !testing::full_tests()) GTEST_SKIP() << "in full runs";
  auto const of_size = compute_tuning(device().traits(), GetParam());
  if (!of_size) GTEST_SKIP() << of_size.error().describe();
  auto const& tuning = *of_size;
  std::set<vk::Pipeline const*> pipelines;
  std::size_t described = 0;
  for (auto const& specs :
       {join_compute_pipelines(tuning), primitive_pipelines(tuning), RowGroups::pipelines(tuning),
        slice_states_pipelines(tuning), resident_group_by_pipelines(tuning), column_group_by_pipelines(tuning),
        condition_join_pipelines(tuning), string_pipelines(tuning)}) {
    for (auto const& spec : specs) {
      auto const pipeline = store().compile(spec);
      ASSERT_TRUE(pipeline) << pipeline.error().describe();
      pipelines.insert(*pipeline);
      ++described;
    }
  }
  EXPECT_EQ(pipelines.size(), described);
  EXPECT_GT(described, 40U);
}

}  // namespace
}  // namespace garuda::compute
