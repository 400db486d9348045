#include "bench/parts/floors.hpp"

#include <gtest/gtest.h>

namespace garuda::bench {
namespace {

using calibrate::PixelOrder;
using calibrate::PointTarget;

RunStats join_stats() {
  RunStats stats;
  stats.phases = {{"upload", 1, 2, 3},    {"statistics", 10, 0, 4000}, {"build", 10, 0, 1000},
                  {"count", 10, 0, 2000}, {"count", 10, 0, 1000},      {"probe", 10, 0, 3000}};
  return stats;
}

TEST(RasterFloor, PointsAreThoseOfTheJoin) {
  auto const drawn = points_of_join(Plan{}, join_stats());
  ASSERT_EQ(drawn.size(), 4U);
  EXPECT_EQ(drawn[0].phase, "statistics");
  EXPECT_EQ(drawn[0].target, PointTarget::add);
  EXPECT_EQ(drawn[0].order, PixelOrder::random);
  EXPECT_EQ(drawn[0].points, 4000U);
  EXPECT_EQ(drawn[1].target, PointTarget::overwrite_2);
  EXPECT_EQ(drawn[2].points, 3000U);
  EXPECT_EQ(drawn[2].target, PointTarget::add);
  EXPECT_EQ(drawn[2].order, PixelOrder::ordered);
  EXPECT_EQ(drawn[3].target, PointTarget::overwrite_2);
}

TEST(RasterFloor, FollowsWidthOfKeysAndStorage) {
  Plan plan;
  plan.key_bits = 64;
  auto stats = join_stats();
  stats.counters = {{"run_slices", 1}};
  auto const drawn = points_of_join(plan, stats);
  EXPECT_EQ(drawn[1].target, PointTarget::overwrite_4);
  EXPECT_EQ(drawn[2].target, PointTarget::overwrite_2);
}

TEST(RasterFloor, PhasesThatDrewNothingHaveNoFloor) {
  RunStats stats;
  stats.phases = {{"build", 10, 0, 1000}, {"count", 10, 0, 0}};
  auto const drawn = points_of_join(Plan{}, stats);
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_EQ(drawn[0].phase, "build");
}

}  // namespace
}  // namespace garuda::bench
