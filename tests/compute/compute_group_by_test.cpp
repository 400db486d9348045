// The compute group-by against sums and groups found one row at a time: every way to run it.
#include "operators/compute/group_by/compute_group_by.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "tests/workloads/group_kernel_checks.hpp"
#include "tests/workloads/group_kernel_test.hpp"

namespace garuda::compute {
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
  static Open opener() {
    return [](contract::GroupByBackendOptions const& options) {
      return open_compute_group_by(device(), store(), options);
    };
  }
  static Result<std::unique_ptr<contract::GroupByBackend>> open(GroupByTuning const& tuning,
                                                                contract::StatsSink* stats = nullptr) {
    contract::GroupByBackendOptions options;
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
    run_small_cases(**backend, shape, seed);
    if (HasFatalFailure()) return;
  }
}

/// Every kind with every pattern of values, with and without nulls.
TEST_F(ComputeGroupBy, EveryKindOfValues) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  run_every_kind(**backend);
}

/// Accumulators of few groups in shared memory, and in device memory alone, of every kind.
TEST_F(ComputeGroupBy, FewGroupsInSharedMemoryAndNot) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  for (std::uint64_t const rows : {257, 5'000, 66'000}) {
    if (too_large(rows)) continue;
    GroupProblem const problem({rows, GroupPattern::some, {32, 0, false, false}, 5});
    auto kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    for (auto const kind : kKinds) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " rows " + std::to_string(rows));
      ValueColumn const column(kind, ValuePattern::full_range, kind != contract::ValueKind::int64, rows, 1);
      expect_states(**kernel, problem, column, kAllStates);
      if (HasFatalFailure()) return;
    }
  }
}

/// The checks that every path's kernel has to pass.
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
  run_large_cases(**backend);
}

/// A million rows of the largest value in one group, by hashes although direct addresses would do.
TEST_F(ComputeGroupBy, MillionRowsInOneGroup) {
  if (too_large(kMillionRows)) GTEST_SKIP() << "sanitizer builds run small cases";
  GroupByTuning tuning;
  tuning.address = Address::hash;
  auto const backend = open(tuning);
  ASSERT_TRUE(backend) << backend.error().describe();
  run_million_rows_in_one_group(**backend);
}

TEST_F(ComputeGroupBy, KeysAtBothEndsOfTheRange) {
  auto const backend = open({});
  ASSERT_TRUE(backend) << backend.error().describe();
  expect_keys_at_both_ends_of_the_range(**backend);
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
    expect_states(**kernel, problem, ValueColumn(contract::ValueKind::float64, ValuePattern::full_range, false, 257, 2),
                  kAllStates);
  }
  EXPECT_EQ(stats.value("direct_slices"), 1U);
  EXPECT_EQ(stats.value("groups_of_a_slice"), problem.heads().size());
  EXPECT_EQ(stats.value("points"), 0U);
  for (auto const* name : {"hash", "map", "prefix", "ranges", "aggregate"}) {
    EXPECT_TRUE(stats.phases().contains(name)) << name;
  }
}

TEST_F(ComputeGroupBy, RefusesWhatCannotBe) { expect_direct_needs_a_range(opener()); }

TEST_F(ComputeGroupBy, KeepsToItsMemory) { expect_keeps_to_its_memory(opener()); }

TEST_F(ComputeGroupBy, StopsWhenCancelled) { expect_stops_when_cancelled(opener()); }

}  // namespace
}  // namespace garuda::compute
