// The compute group-by against sums and groups found one row at a time: every way to run it.
#include "operators/compute/compute_group_by.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "tests/operators/group_kernel_checks.hpp"
#include "tests/operators/group_kernel_test.hpp"

namespace garuda::operators {
namespace {

using testing::Counters;
using testing::GroupCase;
using testing::GroupPattern;
using testing::GroupProblem;
using testing::kAllStates;
using testing::KeyShape;
using testing::kKinds;
using testing::kShapes;
using testing::ValueColumn;
using testing::ValuePattern;

class ComputeGroupBy : public testing::GroupKernelTest {
 protected:
  static Result<std::unique_ptr<GroupByBackend>> open(GroupByTuning const& tuning, StatsSink* stats = nullptr) {
    GroupByBackendOptions options;
    options.tuning = tuning;
    options.max_value_words = 4;
    options.stats = stats;
    return open_compute_group_by(device(), store(), options);
  }
};

/// Every pattern and shape of keys at sizes around a workgroup; kinds and values take turns.
TEST_F(ComputeGroupBy, EverySmallCase) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  std::uint32_t seed = 0;
  for (auto const& shape : kShapes) {
    for (std::uint32_t pattern = 0; pattern < testing::kNumGroupPatterns; ++pattern) {
      for (std::uint64_t const rows : {1, 255, 257}) {
        auto const kept = shape.bits == 0 && shape.words == 0 ? GroupPattern::one : static_cast<GroupPattern>(pattern);
        GroupCase const group_case{rows, kept, shape, ++seed};
        SCOPED_TRACE(to_string(group_case));
        run(**backend, group_case, 1);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// Every kind with every pattern of values, with and without nulls.
TEST_F(ComputeGroupBy, EveryKindOfValues) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  GroupProblem const problem({257, GroupPattern::zipf, {32, 0, false, false}, 5});
  auto kernel = (*backend)->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  expect_groups(**kernel, problem);
  for (auto const kind : kKinds) {
    for (std::uint32_t values = 0; values < testing::kNumValuePatterns; ++values) {
      for (bool const nulls : {false, true}) {
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " values " + std::to_string(values));
        ValueColumn const column(kind, static_cast<ValuePattern>(values), nulls, 257, values + 1);
        expect_states(**kernel, problem, column, kAllStates);
        if (HasFatalFailure()) return;
      }
    }
  }
  expect_states(**kernel, problem, ValueColumn(ValueKind::none, ValuePattern::tiny, true, 257, 9), kCountState);
}

/// Accumulators of few groups in shared memory, and in device memory alone, of every kind.
TEST_F(ComputeGroupBy, FewGroupsInSharedMemoryAndNot) {
  for (std::uint32_t const spread : {1, 2}) {
    GroupByTuning tuning;
    tuning.spread = spread;
    Counters stats;
    auto const backend = open(tuning, &stats);
    ASSERT_TRUE(backend) << backend.error().describe();
    std::uint64_t const rows = too_large(5000) ? 257 : 5000;
    GroupProblem const problem({rows, GroupPattern::some, {32, 0, false, false}, 5});
    auto kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    for (auto const kind : kKinds) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " spread " + std::to_string(spread));
      ValueColumn const column(kind, ValuePattern::full_range, kind != ValueKind::int64, rows, spread);
      expect_states(**kernel, problem, column, kAllStates);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(stats.value("local_passes") > 0, spread > 1);
  }
}

/// What every path's kernel owes the driver.
TEST_F(ComputeGroupBy, KernelCases) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  for (auto const& kernel_case : testing::kernel_cases(false)) {
    testing::check_group_kernel(**backend, kernel_case);
    if (HasFatalFailure()) return;
  }
}

/// Every pattern of groups at many workgroups' rows; shapes, kinds and values take turns.
TEST_F(ComputeGroupBy, LargeCases) {
  if (too_large(65'537)) GTEST_SKIP() << "sanitizer builds run small cases";
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  constexpr std::array kLargeShapes{KeyShape{32, 0, false, false}, KeyShape{64, 0, true, false},
                                    KeyShape{64, 0, false, false}, KeyShape{32, 0, true, false},
                                    KeyShape{0, 3, false, false},  KeyShape{0, 9, false, false},
                                    KeyShape{0, 2, false, true}};
  std::uint32_t seed = 0;
  for (std::uint32_t pattern = 0; pattern < testing::kNumGroupPatterns; ++pattern) {
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      GroupCase const group_case{65'537, static_cast<GroupPattern>(pattern),
                                 kLargeShapes.at((pattern + 3 * turn) % kLargeShapes.size()), ++seed};
      SCOPED_TRACE(to_string(group_case));
      run(**backend, group_case, 2);
      if (HasFatalFailure()) return;
    }
  }
}

/// A million rows of the largest value in one group, by hashes although direct addresses would do.
TEST_F(ComputeGroupBy, MillionRowsInOneGroup) {
  constexpr std::uint64_t kRows = (std::uint64_t{1} << 20) + 3;
  if (too_large(kRows)) GTEST_SKIP() << "sanitizer builds run small cases";
  GroupByTuning tuning;
  tuning.address = Address::hash;
  auto const backend = open(tuning);
  ASSERT_TRUE(backend) << backend.error().describe();
  GroupProblem const problem({kRows, GroupPattern::heavy, {32, 0, true, false}, 3});
  auto kernel = (*backend)->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  expect_groups(**kernel, problem);
  expect_states(**kernel, problem, ValueColumn(ValueKind::int64, ValuePattern::largest, false, kRows, 1),
                kCountState | kSumState);
}

TEST_F(ComputeGroupBy, KeysAtBothEndsOfTheRange) {
  std::vector<std::uint64_t> const keys{~std::uint64_t{0}, 0, 1, ~std::uint64_t{0}, 0, std::uint64_t{1} << 63};
  KeySpan span;
  span.words = std::span(keys);
  span.max = ~std::uint64_t{0};
  GroupSlice slice;
  slice.num_rows = keys.size();
  slice.keys = span;
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  auto kernel = (*backend)->begin(slice, 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  auto const groups = (*kernel)->group();
  ASSERT_TRUE(groups) << groups.error().describe();
  ASSERT_EQ(*groups, 4U);
  std::vector<std::uint32_t> ids(keys.size());
  ASSERT_TRUE((*kernel)->group_ids(ids));
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 3}));
}

TEST_F(ComputeGroupBy, ReportsWhatItDid) {
  Counters stats;
  auto const backend = open({}, &stats);
  ASSERT_TRUE(backend) << backend.error().describe();
  GroupProblem const problem({257, GroupPattern::some, {32, 0, true, false}, 2});
  {
    auto kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    expect_states(**kernel, problem, ValueColumn(ValueKind::float64, ValuePattern::full_range, false, 257, 2),
                  kAllStates);
  }
  EXPECT_EQ(stats.value("direct_slices"), 1U);
  EXPECT_EQ(stats.value("groups_of_a_slice"), problem.heads().size());
  EXPECT_EQ(stats.value("points"), 0U);
  for (auto const* name : {"upload", "hash", "map", "prefix", "windows", "sum", "extremes", "count"}) {
    EXPECT_TRUE(stats.phases().contains(name)) << name;
  }
}

TEST_F(ComputeGroupBy, RefusesWhatCannotBe) {
  auto const code_of = [](GroupByTuning const& tuning, GroupCase const& group_case) {
    GroupProblem const problem(group_case);
    auto const backend = open(tuning);
    if (!backend) return backend.error().code();
    auto const kernel = (*backend)->begin(problem.slice(), 0);
    EXPECT_FALSE(kernel);
    return kernel ? ErrorCode::invalid_input : kernel.error().code();
  };
  GroupByTuning direct;
  direct.address = Address::direct;
  EXPECT_EQ(code_of(direct, {257, GroupPattern::distinct, {64, 0, false, false}, 1}), ErrorCode::usage);
  EXPECT_EQ(code_of(direct, {257, GroupPattern::distinct, {0, 2, false, false}, 1}), ErrorCode::usage);
  GroupByTuning blend;
  blend.counting = Counting::blend;
  EXPECT_EQ(code_of(blend, {257, GroupPattern::distinct, {32, 0, false, false}, 1}), ErrorCode::usage);
}

TEST_F(ComputeGroupBy, KeepsToItsMemory) {
  GroupProblem const problem({257, GroupPattern::distinct, {64, 0, false, false}, 1});
  GroupByBackendOptions options;
  options.max_value_words = 2;
  options.device_memory_limit_bytes = 4096;
  auto const backend = open_compute_group_by(device(), store(), options);
  ASSERT_TRUE(backend) << backend.error().describe();
  auto const kernel = (*backend)->begin(problem.slice(), 0);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::limit_exceeded);
}

TEST_F(ComputeGroupBy, StopsWhenCancelled) {
  GroupProblem const problem({257, GroupPattern::distinct, {64, 0, false, false}, 1});
  std::atomic<bool> cancelled = false;
  Control control;
  control.cancelled = &cancelled;
  GroupByBackendOptions options;
  options.control = &control;
  auto const backend = open_compute_group_by(device(), store(), options);
  ASSERT_TRUE(backend) << backend.error().describe();
  auto kernel = (*backend)->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  cancelled = true;
  auto const groups = (*kernel)->group();
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::operators
