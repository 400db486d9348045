// Joins without keys on the CPU, kernel by kernel, against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>

#include "operators/cpu/condition_join/condition_join.hpp"
#include "tests/workloads/condition_problem.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::cpu {
namespace {

using testing::ConditionCase;
using testing::ConditionProblem;
using testing::WordPattern;

contract::BackendOptions options_of(JoinMethod method, BuildSide build) {
  contract::BackendOptions options;
  options.tuning.method = method;
  options.tuning.build = build;
  options.lanes = 2;
  return options;
}

/// Joins by each strategy that the condition allows, built on either side.
void expect_solved(ConditionCase const& condition_case, std::uint64_t window) {
  SCOPED_TRACE(to_string(condition_case));
  ConditionProblem const problem(condition_case);
  for (auto const build : {BuildSide::left, BuildSide::right})
    for (auto const method : {JoinMethod::nested_loops, JoinMethod::sorted_ranges}) {
      SCOPED_TRACE("method " + std::to_string(static_cast<int>(method)) + ", build " +
                   std::to_string(static_cast<int>(build)));
      auto const side = build == BuildSide::left ? Side::left : Side::right;
      auto backend = open_cpu_condition_join(options_of(method, build), problem.condition());
      if (method == JoinMethod::sorted_ranges && !sorted_column(problem.condition(), side)) {
        ASSERT_EQ(backend.error().code(), ErrorCode::usage);
        continue;
      }
      ASSERT_TRUE(backend) << backend.error().describe();
      auto slice = problem.slice();
      slice.build = side;
      auto kernel = (*backend)->begin(slice, 0);
      ASSERT_TRUE(kernel) << kernel.error().describe();
      testing::expect_solved(problem, slice, **kernel, window);
      if (::testing::Test::HasFatalFailure()) return;
    }
}

constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 13> kSizes{{{0, 0},
                                                                          {0, 5},
                                                                          {5, 0},
                                                                          {1, 1},
                                                                          {1, 70},
                                                                          {63, 65},
                                                                          {64, 64},
                                                                          {65, 63},
                                                                          {130, 129},
                                                                          {2, 1'023},
                                                                          {1'025, 3},
                                                                          {70, 1'024},
                                                                          {200, 257}}};
constexpr std::array kPatterns{WordPattern::few, WordPattern::spread, WordPattern::extremes, WordPattern::equal};

TEST(CpuConditionJoin, EverySmallCase) {
  std::uint64_t index = 0;
  for (auto const& name : testing::condition_names())
    for (auto const& [left, right] : kSizes)
      for (auto const pattern : kPatterns)
        for (bool const is_wide : {false, true})
          for (bool const has_nulls : {false, true}) {
            ++index;
            if (std::max(left, right) > testing::max_test_rows() || !testing::takes_case(index)) continue;
            expect_solved({name, left, right, is_wide, has_nulls, pattern, index}, 1 + index % 500);
            if (HasFatalFailure()) return;
          }
}

TEST(CpuConditionJoin, RandomConditions) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    if (!testing::takes_case(seed)) continue;
    auto const rows = 40 + seed % 60;
    expect_solved({"random", rows, 140 - rows, seed % 2 == 0, seed % 3 == 0, kPatterns[seed % 4], seed}, 1 + seed % 97);
    if (HasFatalFailure()) return;
  }
}

/// More positions than a tile and more rows than a task, so that windows end within blocks, rows and tiles.
TEST(CpuConditionJoin, SeveralTiles) {
  if (testing::max_test_rows() < 9'000) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  for (auto const& name : {"band", "band_and_rest", "either", "own_sides"})
    for (bool const is_wide : {false, true}) {
      expect_solved({name, 300, 8'200, is_wide, true, WordPattern::spread, 7}, 4'096);
      expect_solved({name, 8'200, 70, is_wide, false, WordPattern::spread, 8}, 50'001);
      if (HasFatalFailure()) return;
    }
}

/// Several slices of one backend, which share a build side, and slices that begin within words of bitmaps.
TEST(CpuConditionJoin, SlicesOfOneJoin) {
  for (auto const& name : testing::condition_names())
    for (auto const method : {JoinMethod::nested_loops, JoinMethod::sorted_ranges}) {
      ConditionProblem const problem({name, 250, 200, false, true, WordPattern::few, 11});
      auto const options = options_of(method, BuildSide::right);
      auto backend = open_cpu_condition_join(options, problem.condition());
      if (!backend) continue;
      for (contract::RowSpan const right : {contract::RowSpan{3, 90}, contract::RowSpan{93, 107}})
        for (contract::RowSpan const left :
             {contract::RowSpan{0, 1}, contract::RowSpan{1, 130}, contract::RowSpan{131, 119}}) {
          contract::ConditionSlice const slice{left, right, Side::right};
          auto kernel = (*backend)->begin(slice, 1);
          ASSERT_TRUE(kernel) << kernel.error().describe();
          testing::expect_solved(problem, slice, **kernel, 77);
          if (HasFatalFailure()) return;
        }
    }
}

TEST(CpuConditionJoin, CancelsBetweenTiles) {
  ConditionProblem const problem({"either", 250, 250, false, false, WordPattern::few, 3});
  Control control;
  std::atomic<bool> cancelled{true};
  control.abandoned = &cancelled;
  auto options = options_of(JoinMethod::nested_loops, BuildSide::right);
  options.control = &control;
  auto backend = open_cpu_condition_join(options, problem.condition());
  ASSERT_TRUE(backend);
  auto kernel = (*backend)->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel);
  EXPECT_EQ((*kernel)->count().error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::cpu
