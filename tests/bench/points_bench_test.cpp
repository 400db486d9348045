// `garuda bench points` on every driver.
#include "bench/parts/points_bench.hpp"

#include <gtest/gtest.h>

namespace garuda::bench {
namespace {

TEST(PointsBench, VerifiesAndTimes) {
  PointsRequest request;
  request.rows = 5000;
  request.image = 64;
  request.repeat = 3;
  for (auto const order : {PointOrder::random, PointOrder::pixel}) {
    for (auto const blend : {PointBlend::none, PointBlend::add}) {
      request.order = order;
      request.blend = blend;
      auto const outcome = run_points_bench(request);
      ASSERT_TRUE(outcome) << outcome.error().describe();
      EXPECT_TRUE(outcome->record.verified);
      EXPECT_EQ(outcome->record.time.samples, 3U);
      EXPECT_GT(outcome->record.time.median_ns, 0U);
      EXPECT_EQ(outcome->record.rows, 5000U);
      EXPECT_FALSE(outcome->record.device.empty());
    }
  }
}

TEST(PointsBench, RefusesBadRequests) {
  PointsRequest request;
  EXPECT_EQ(run_points_bench(request).error().code(), ErrorCode::usage);
  request.rows = 10;
  request.image = 48;
  EXPECT_EQ(run_points_bench(request).error().code(), ErrorCode::usage);
  request.image = 64;
  request.repeat = 0;
  EXPECT_EQ(run_points_bench(request).error().code(), ErrorCode::usage);
  request.repeat = 1;
  request.device = "no such device";
  EXPECT_EQ(run_points_bench(request).error().code(), ErrorCode::no_device);
  EXPECT_EQ(parse_point_order("pixels").error().code(), ErrorCode::usage);
  EXPECT_EQ(parse_point_blend("max").error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::bench
