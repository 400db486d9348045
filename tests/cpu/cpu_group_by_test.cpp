// The CPU path's group-by kernel against a plain computation.
#include "operators/cpu/group_by/cpu_group_by.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "operators/cpu/group_by/group_table.hpp"
#include "tests/workloads/group_kernel_checks.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::cpu {
namespace {

TEST(CpuGroupBy, KeepsTheContractOnSmallSlices) {
  auto const backend = open_cpu_group_by({});
  ASSERT_TRUE(backend);
  for (auto const& kernel_case : testing::kernel_cases(false)) testing::check_group_kernel(**backend, kernel_case);
}

TEST(CpuGroupBy, KeepsTheContractOnLargeSlices) {
  if (testing::max_test_rows() < 65'537) GTEST_SKIP() << "larger than this run's slices: 65537";
  auto const backend = open_cpu_group_by({});
  ASSERT_TRUE(backend);
  for (auto const& kernel_case : testing::kernel_cases(true)) testing::check_group_kernel(**backend, kernel_case);
}

TEST(CpuGroupBy, DirectTableSkipsSharedLowBits) {
  std::vector<std::uint32_t> const keys{0x1'0003, 0x2'0003, 0x1'0003};
  contract::GroupSlice slice{3, contract::KeySpan{std::span(keys), 0x1'0003, 0x2'0003, {}}, 16};
  auto const backend = open_cpu_group_by({});
  auto const kernel = (*backend)->begin(slice, 0);
  auto const groups = (*kernel)->group();
  ASSERT_TRUE(groups);
  EXPECT_EQ(*groups, 2U);
}

/// A thread's table may have no group in a range of keys in which another's has some.
TEST(GroupTable, MergingNoGroupsAddsNone) {
  GroupStates const states;
  GroupTable<std::uint32_t> const from({true, 0, 0, 64}, states);
  GroupTable<std::uint32_t> into({true, 0, 0, 64}, states);
  into.merge(from, from.occupied(0, 64));
  EXPECT_TRUE(into.occupied(0, 64).empty());
}

TEST(CpuGroupBy, CanBeCancelled) {
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  contract::GroupByBackendOptions options;
  options.control = &control;
  auto const backend = open_cpu_group_by(options);
  std::vector<std::uint32_t> const keys{1, 2};
  auto const kernel = (*backend)->begin({2, contract::KeySpan{std::span(keys), 1, 2, {}}, 0}, 0);
  auto const groups = (*kernel)->group();
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::cpu
