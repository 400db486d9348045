// Joins without keys as compute passes against the oracle: sizes around workgroups, tiles and subgroups.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "operators/compute/condition_join/condition_join.hpp"
#include "tests/compute/compute_device.hpp"
#include "tests/workloads/condition_problem.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::compute {
namespace {

using testing::ConditionCase;
using testing::ConditionProblem;
using testing::WordPattern;

class ComputeConditionJoin : public testing::ComputeDeviceTest {
 protected:
  void expect_solved(ConditionCase const& condition_case, BuildSide build, std::uint64_t window) {
    SCOPED_TRACE(to_string(condition_case) + ", build " + std::to_string(static_cast<int>(build)));
    ConditionProblem const problem(condition_case);
    contract::BackendOptions options;
    options.tuning.build = build;
    auto backend = open_compute_condition_join(device(), store(), options, problem.condition());
    ASSERT_TRUE(backend) << backend.error().describe();
    auto kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    testing::expect_solved(problem, problem.slice(), **kernel, window);
  }
};

constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 11> kSizes{
    {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {3, 70}, {31, 33}, {65, 63}, {257, 9}, {2, 1'023}, {1'025, 3}, {200, 257}}};
constexpr std::array kPatterns{WordPattern::few, WordPattern::spread, WordPattern::extremes, WordPattern::equal};
constexpr std::array kBuilds{BuildSide::automatic, BuildSide::left, BuildSide::right};

TEST_F(ComputeConditionJoin, EverySmallCase) {
  std::uint64_t index = 0;
  for (auto const& name : testing::condition_names())
    for (auto const& [left, right] : kSizes)
      for (bool const is_wide : {false, true})
        for (bool const has_nulls : {false, true}) {
          ++index;
          if (std::max(left, right) > testing::max_test_rows() || !testing::takes_case(index)) continue;
          expect_solved({name, left, right, is_wide, has_nulls, kPatterns[index % 4], index}, kBuilds[index % 3],
                        1 + index % 500);
          if (HasFatalFailure()) return;
        }
}

/// Programs of steps; each compiled once.
TEST_F(ComputeConditionJoin, RandomConditions) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    if (!testing::takes_case(seed)) continue;
    expect_solved({"random", 40 + seed % 60, 140 - seed % 60, seed % 2 == 0, seed % 3 == 0, kPatterns[seed % 4], seed},
                  kBuilds[seed % 3], 1 + seed % 97);
    if (HasFatalFailure()) return;
  }
}

/// More probe rows than a workgroup has, more build rows than a tile and than a workgroup takes.
TEST_F(ComputeConditionJoin, SeveralWorkgroups) {
  if (testing::max_test_rows() < 9'000 || !testing::takes_large_case()) GTEST_SKIP() << "rows of large cases";
  for (auto const& name : {"less", "band", "own_sides"})
    for (bool const is_wide : {false, true}) {
      expect_solved({name, 8'300, 150, is_wide, true, WordPattern::spread, 7}, BuildSide::left, 100'000);
      expect_solved({name, 150, 4'500, is_wide, false, WordPattern::spread, 8}, BuildSide::left, 50'001);
      if (HasFatalFailure()) return;
    }
}

class PipelinesOfConditions : public testing::ComputeDeviceTest, public ::testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Sizes, PipelinesOfConditions, ::testing::Values(4, 8, 16, 32, 64, 128),
                         ::testing::PrintToStringParamName());

TEST_P(PipelinesOfConditions, AllCompile) {
  auto const tuning = compute_tuning(device().traits(), GetParam());
  if (!tuning) GTEST_SKIP() << tuning.error().describe();
  for (auto const& spec : condition_join_pipelines(*tuning)) {
    auto const pipeline = store().compile(spec);
    ASSERT_TRUE(pipeline) << pipeline.error().describe();
  }
}

}  // namespace
}  // namespace garuda::compute
