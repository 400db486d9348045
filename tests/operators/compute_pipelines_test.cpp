// Every pipeline of the compute path compiles on the driver of this process, at each subgroup size it offers; nothing
// is submitted, so it runs on RADV's null device, too.
#include <gtest/gtest.h>

#include <set>

#include "operators/compute/column_group_by.hpp"
#include "operators/compute/device_primitives.hpp"
#include "operators/compute/hash_grouping.hpp"
#include "operators/compute/join_passes.hpp"
#include "operators/compute/resident_group_by.hpp"
#include "tests/operators/compute_device.hpp"

namespace garuda::operators {
namespace {

using ComputePipelines = testing::ComputeDeviceTest;

TEST_F(ComputePipelines, AllCompileAtEverySubgroupSize) {
  auto const sizes = subgroup_sizes();
  ASSERT_FALSE(sizes.empty());
  for (auto const size : sizes) {
    auto const tuning = testing::value_of(compute_tuning(device().traits(), size));
    SCOPED_TRACE(size);
    std::set<vk::Pipeline const*> pipelines;
    std::size_t described = 0;
    for (auto const& specs :
         {join_compute_pipelines(tuning), primitive_pipelines(tuning), hash_grouping_pipelines(tuning),
          resident_group_by_pipelines(tuning), column_group_by_pipelines(tuning)}) {
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
}

}  // namespace
}  // namespace garuda::operators
