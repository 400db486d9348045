#include "bench/histogram_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/resident_bench.hpp"
#include "tests/unwrap.hpp"

namespace garuda::bench {
namespace {

using testing::value_of;

TEST(HistogramBench, CountsByBlendingAndByAtomics) {
  HistogramRequest request;
  request.rows = 5'000;
  request.bins = 1'024;
  request.paths = {Path::graphics, Path::compute};
  request.repeat = 1;
  auto const outcomes = value_of(run_histogram_bench(request));
  ASSERT_GE(outcomes.size(), 2U);
  EXPECT_EQ(outcomes.front().record.path, "graphics");
  EXPECT_EQ(outcomes.back().record.path, "compute");
  for (auto const& outcome : outcomes) {
    EXPECT_TRUE(outcome.record.verified);
    EXPECT_EQ(outcome.record.time.samples, 1U);
    EXPECT_FALSE(outcome.setting.empty());
  }
}

TEST(HistogramBench, RefusesWhatItCannotCount) {
  for (auto const bins : {std::uint64_t{0}, std::uint64_t{1'000}, std::uint64_t{1} << 31}) {
    HistogramRequest request;
    request.bins = bins;
    auto const refused = run_histogram_bench(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  }
}

/// The compute path shares its tables where the driver exports memory, and says why where it does not.
TEST(ResidentBench, SharesTablesOrSaysWhyNot) {
  JoinBenchRequest request;
  request.workload.rows_left = 1'000;
  request.workload.rows_right = 2'000;
  request.paths = {Path::compute};
  request.repeat = 1;
  auto const outcomes = run_resident_join_bench(request, {.tuning = {}, .choices = {}, .share_tables = true});
  if (outcomes) {
    EXPECT_TRUE(outcomes->front().record.verified);
    EXPECT_TRUE(outcomes->front().record.host_time);
  } else {
    EXPECT_EQ(outcomes.error().code(), ErrorCode::no_device) << outcomes.error().describe();
    EXPECT_THAT(outcomes.error().describe(), ::testing::HasSubstr("cannot share memory"));
  }
}

}  // namespace
}  // namespace garuda::bench
