#include "bench/join_bench.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace garuda::bench {
namespace {

JoinBenchRequest small_request() {
  JoinBenchRequest request;
  request.workload.rows_left = 200;
  request.workload.rows_right = 1000;
  request.workload.match_ratio = 0.5;
  request.repeat = 3;
  return request;
}

TEST(JoinBench, VerifiesAndTimesEveryPathInTheOrderAskedFor) {
  auto request = small_request();
  request.paths = {Path::graphics, Path::cpu};
  request.device.emplace("0");
  auto const outcomes = run_join_bench(request);
  ASSERT_TRUE(outcomes) << outcomes.error().describe();
  ASSERT_EQ(outcomes->size(), 2U);
  EXPECT_EQ((*outcomes)[0].record.path, "graphics");
  EXPECT_EQ((*outcomes)[1].record.path, "cpu");
  for (auto const& outcome : *outcomes) {
    auto const& record = outcome.record;
    EXPECT_TRUE(record.verified);
    EXPECT_TRUE(outcome.compared_rows);
    EXPECT_EQ(record.rows_out, 500U);
    EXPECT_EQ(record.time.samples, 3U);
    EXPECT_GT(record.time.median_ns, 0U);
    EXPECT_EQ(record.bytes, 200U * 8 + 1000U * 8 + 500U * 12);
    EXPECT_FALSE(record.device.empty());
    EXPECT_FALSE(record.driver.empty());
    EXPECT_GT(outcome.bandwidth.bytes_per_s, 0);
    EXPECT_FALSE(outcome.floor.has_value());
  }
}

TEST(JoinBench, DrawsTheFloorBesideTheJoin) {
  auto request = small_request();
  request.workload.rows_left = request.workload.rows_right = 1000;
  request.workload.match_ratio = 1;
  request.paths = {Path::graphics};
  request.floor = true;
  auto const outcomes = run_join_bench(request);
  ASSERT_TRUE(outcomes) << outcomes.error().describe();
  auto const& floor = outcomes->front().floor;
  ASSERT_TRUE(floor.has_value());
  EXPECT_EQ(floor->record.op, "raster-floor");
  EXPECT_EQ(floor->record.time.samples, 3U);
  EXPECT_GT(floor->total_ratio.median, 0);
  std::uint64_t points = 0;
  for (auto const& phase : floor->record.phases) points += phase.items;
  EXPECT_GE(points, 3000U) << "build, count and probe draw each row once at least";
}

TEST(JoinBench, RefusesBadRequests) {
  auto request = small_request();
  request.repeat = 0;
  EXPECT_EQ(run_join_bench(request).error().code(), ErrorCode::usage);
  request = small_request();
  request.paths = {Path::cpu};
  request.floor = true;
  EXPECT_EQ(run_join_bench(request).error().code(), ErrorCode::usage);
  request = small_request();
  std::atomic<bool> const cancelled{true};
  request.cancelled = &cancelled;
  EXPECT_EQ(run_join_bench(request).error().code(), ErrorCode::cancelled);
  request = small_request();
  request.workload.rows_left = request.workload.rows_right = request.workload.multiplicity = 1ULL << 30;
  EXPECT_EQ(run_join_bench(request).error().code(), ErrorCode::out_of_memory);
  request = small_request();
  request.workload.match_ratio = 2;
  EXPECT_EQ(run_join_bench(request).error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::bench
