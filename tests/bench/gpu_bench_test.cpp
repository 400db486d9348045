#include "bench/gpu/gpu_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unwrap.hpp"

namespace garuda::bench {
namespace {

using ::testing::HasSubstr;
using testing::value_of;

TEST(GpuGrid, NamesEveryCellOnce) {
  for (auto const grid : {GpuGrid::quick, GpuGrid::full, GpuGrid::rivals}) {
    for (auto const& cells : {resident_cells(grid), end_to_end_cells(grid)}) {
      std::set<std::string> names;
      for (auto const& cell : cells) EXPECT_TRUE(names.insert(cell.name).second) << cell.name;
      EXPECT_FALSE(cells.empty());
    }
  }
}

TEST(GpuGrid, FullReachesTheSizesOfTheRivals) {
  auto const full = resident_cells(GpuGrid::full);
  auto const has = [&](std::uint64_t rows) {
    return std::ranges::any_of(full, [&](GpuCell const& cell) {
      auto const* const join = std::get_if<JoinWorkload>(&cell.workload);
      return join != nullptr && join->rows_left == rows && join->rows_right == rows;
    });
  };
  EXPECT_TRUE(has(std::uint64_t{1} << 20));
  EXPECT_TRUE(has(std::uint64_t{1} << 27));
  EXPECT_TRUE(has(std::uint64_t{1} << 28));
}

TEST(GpuGrid, IsParsed) {
  EXPECT_EQ(value_of(parse_gpu_grid("rivals")), GpuGrid::rivals);
  auto const unknown = parse_gpu_grid("all");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::usage);
  EXPECT_THAT(unknown.error().describe(), HasSubstr("'all'"));
}

GpuCellOutcome outcome_of(std::vector<std::uint64_t> compute, std::vector<std::uint64_t> cuda) {
  GpuCellOutcome outcome;
  Record record;
  record.path = "compute";
  record.samples_ns = std::move(compute);
  outcome.records.push_back(record);
  record.path = "cuda";
  record.samples_ns = std::move(cuda);
  outcome.records.push_back(record);
  return outcome;
}

TEST(GpuBench, PairsRuns) {
  auto const ratio = ratio_to_base(outcome_of({10, 30, 40}, {10, 10, 20}), Path::compute);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->median, 2);
  EXPECT_DOUBLE_EQ(ratio->min, 1);
  EXPECT_DOUBLE_EQ(ratio->max, 3);
}

TEST(GpuBench, HasNoRatioWithoutBothPaths) {
  auto outcome = outcome_of({10}, {10});
  outcome.records.pop_back();
  EXPECT_FALSE(ratio_to_base(outcome, Path::compute));
  EXPECT_FALSE(ratio_to_base(outcome_of({10}, {0}), Path::compute));
}

TEST(GpuBench, ReportsCellsThatTimeDoesNotReach) {
  GpuBenchRequest request;
  request.grid = GpuGrid::quick;
  request.only = "no such workload";
  EXPECT_TRUE(run_gpu_bench(request, [](GpuCellOutcome const&) { ADD_FAILURE(); }));
  request.repeat = 0;
  auto const refused = run_gpu_bench(request, [](GpuCellOutcome const&) {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::bench
