// Runs of a device path's group-by kernel over the cases of group_problem.hpp, on the one driver of this process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/stats_sink.hpp"
#include "tests/engine/counters.hpp"
#include "tests/graphics/graphics_device.hpp"
#include "tests/workloads/group_problem.hpp"

namespace garuda::testing {

inline constexpr contract::StateSet kAllStates =
    contract::kCountState | contract::kSumState | contract::kMinState | contract::kMaxState;
inline constexpr std::array kKinds{
    contract::ValueKind::int32,  contract::ValueKind::uint32,  contract::ValueKind::int64,  contract::ValueKind::uint64,
    contract::ValueKind::int128, contract::ValueKind::float32, contract::ValueKind::float64};

inline constexpr std::array kShapes{
    KeyShape{32, 0, false, false}, KeyShape{32, 0, true, false}, KeyShape{64, 0, false, false},
    KeyShape{64, 0, true, false},  KeyShape{0, 0, false, false}, KeyShape{0, 1, false, false},
    KeyShape{0, 2, false, false},  KeyShape{0, 3, false, false}, KeyShape{0, 4, false, true},
    KeyShape{0, 5, false, false},  KeyShape{0, 9, false, false}, KeyShape{0, 31, false, false}};

/// Shared by the tests of the device paths, over the fixture that opens the device.
template <class DeviceTest>
class GroupKernelTestOn : public DeviceTest {
 protected:
  /// Groups and checks them.
  static void expect_groups(contract::GroupByKernel& kernel, GroupProblem const& problem) {
    auto const groups = kernel.group();
    ASSERT_TRUE(groups) << groups.error().describe();
    ASSERT_EQ(*groups, problem.heads().size());
    auto const heads = kernel.heads();
    ASSERT_TRUE(heads) << heads.error().describe();
    ASSERT_TRUE(std::ranges::equal(*heads, problem.heads()));
    std::vector<std::uint32_t> ids(problem.ids().size());
    auto const got_ids = kernel.group_ids(ids);
    ASSERT_TRUE(got_ids) << got_ids.error().describe();
    ASSERT_TRUE(ids == problem.ids());
  }

  static void expect_states(contract::GroupByKernel& kernel, GroupProblem const& problem, ValueColumn const& column,
                            contract::StateSet states) {
    auto const state = kernel.aggregate(column.input(states));
    ASSERT_TRUE(state) << state.error().describe();
    column.expect_states(*state, states, problem);
  }

  /// Groups a case and aggregates `columns` columns of it, whose kinds, values, nulls and states take turns.
  static void run(contract::GroupByBackend& backend, GroupCase const& group_case, std::uint32_t columns) {
    GroupProblem const problem(group_case);
    auto kernel = backend.begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    for (std::uint32_t i = 0; i < columns && !::testing::Test::HasFatalFailure(); ++i) {
      auto const turn = group_case.seed + i;
      auto const kind = kKinds.at(turn % kKinds.size());
      auto const values = static_cast<ValuePattern>(turn / 2 % kNumValuePatterns);
      bool const nulls = turn % 3 == 0;
      auto const states = static_cast<contract::StateSet>(turn % 5 == 0 ? 1 + turn / 5 % 15 : kAllStates);
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " values " +
                   std::to_string(static_cast<int>(values)) + " states " + std::to_string(states));
      expect_states(**kernel, problem, ValueColumn(kind, values, nulls, group_case.rows, turn), states);
    }
  }

  /// Opens the backend under test; what the shared cases below need of it.
  using Open = std::function<Result<std::unique_ptr<contract::GroupByBackend>>(contract::GroupByBackendOptions const&)>;

  /// Every pattern of groups for a shape of keys, at sizes around a workgroup; kinds and values take turns with `seed`.
  static void run_small_cases(contract::GroupByBackend& backend, KeyShape const& shape, std::uint32_t& seed) {
    for (std::uint32_t pattern = 0; pattern < kNumGroupPatterns; ++pattern) {
      for (std::uint64_t const rows : {1, 255, 257}) {
        auto const kept = shape.bits == 0 && shape.words == 0 ? GroupPattern::one : static_cast<GroupPattern>(pattern);
        GroupCase const group_case{rows, kept, shape, ++seed};
        SCOPED_TRACE(to_string(group_case));
        run(backend, group_case, 1);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// Every kind with every pattern of values, with and without nulls.
  static void run_every_kind(contract::GroupByBackend& backend) {
    GroupProblem const problem({257, GroupPattern::zipf, {32, 0, false, false}, 5});
    auto kernel = backend.begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    for (auto const kind : kKinds) {
      for (std::uint32_t values = 0; values < kNumValuePatterns; ++values) {
        for (bool const nulls : {false, true}) {
          SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " values " + std::to_string(values));
          ValueColumn const column(kind, static_cast<ValuePattern>(values), nulls, 257, values + 1);
          expect_states(**kernel, problem, column, kAllStates);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
    expect_states(**kernel, problem, ValueColumn(contract::ValueKind::none, ValuePattern::tiny, true, 257, 9),
                  contract::kCountState);
  }

  /// Every pattern of groups at more rows than one pixel may add up; shapes, kinds and values take turns.
  static void run_large_cases(contract::GroupByBackend& backend) {
    constexpr std::array kLargeShapes{KeyShape{32, 0, false, false}, KeyShape{64, 0, true, false},
                                      KeyShape{64, 0, false, false}, KeyShape{32, 0, true, false},
                                      KeyShape{0, 3, false, false},  KeyShape{0, 9, false, false},
                                      KeyShape{0, 2, false, true}};
    std::uint32_t seed = 0;
    for (std::uint32_t pattern = 0; pattern < kNumGroupPatterns; ++pattern) {
      for (std::uint32_t turn = 0; turn < 2; ++turn) {
        GroupCase const group_case{65'537, static_cast<GroupPattern>(pattern),
                                   kLargeShapes.at((pattern + 3 * turn) % kLargeShapes.size()), ++seed};
        SCOPED_TRACE(to_string(group_case));
        run(backend, group_case, 2);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// A million rows of the largest value in one group.
  static void run_million_rows_in_one_group(contract::GroupByBackend& backend) {
    GroupProblem const problem({kMillionRows, GroupPattern::heavy, {32, 0, true, false}, 3});
    auto kernel = backend.begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    expect_states(**kernel, problem,
                  ValueColumn(contract::ValueKind::int64, ValuePattern::largest, false, kMillionRows, 1),
                  contract::kCountState | contract::kSumState);
  }
  static constexpr std::uint64_t kMillionRows = (std::uint64_t{1} << 20) + 3;

  static void expect_keys_at_both_ends_of_the_range(contract::GroupByBackend& backend) {
    std::vector<std::uint64_t> const keys{~std::uint64_t{0}, 0, 1, ~std::uint64_t{0}, 0, std::uint64_t{1} << 63};
    contract::KeySpan span;
    span.words = std::span(keys);
    span.max = ~std::uint64_t{0};
    contract::GroupSlice slice;
    slice.num_rows = keys.size();
    slice.keys = span;
    auto kernel = backend.begin(slice, 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    auto const groups = (*kernel)->group();
    ASSERT_TRUE(groups) << groups.error().describe();
    ASSERT_EQ(*groups, 4U);
    std::vector<std::uint32_t> ids(keys.size());
    ASSERT_TRUE((*kernel)->group_ids(ids));
    EXPECT_EQ(ids, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 3}));
  }

  /// The code with which opening a backend or beginning a slice is refused.
  static ErrorCode refusal(Open const& open, GroupByTuning const& tuning, GroupCase const& group_case) {
    GroupProblem const problem(group_case);
    contract::GroupByBackendOptions options;
    options.tuning = tuning;
    options.max_value_words = 4;
    auto const backend = open(options);
    if (!backend) return backend.error().code();
    auto const kernel = (*backend)->begin(problem.slice(), 0);
    EXPECT_FALSE(kernel);
    return kernel ? ErrorCode::invalid_input : kernel.error().code();
  }

  /// Direct addresses are refused for keys without a range.
  static void expect_direct_needs_a_range(Open const& open) {
    GroupByTuning direct;
    direct.address = Address::direct;
    EXPECT_EQ(refusal(open, direct, {257, GroupPattern::distinct, {64, 0, false, false}, 1}), ErrorCode::usage);
    EXPECT_EQ(refusal(open, direct, {257, GroupPattern::distinct, {0, 2, false, false}, 1}), ErrorCode::usage);
  }

  static void expect_keeps_to_its_memory(Open const& open) {
    GroupProblem const problem({257, GroupPattern::distinct, {64, 0, false, false}, 1});
    contract::GroupByBackendOptions options;
    options.max_value_words = 2;
    options.device_memory_limit_bytes = 4096;
    auto const backend = open(options);
    ASSERT_TRUE(backend) << backend.error().describe();
    auto const kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code(), ErrorCode::limit_exceeded);
  }

  static void expect_stops_when_cancelled(Open const& open) {
    GroupProblem const problem({257, GroupPattern::distinct, {64, 0, false, false}, 1});
    std::atomic<bool> cancelled = false;
    Control control;
    control.cancelled = &cancelled;
    contract::GroupByBackendOptions options;
    options.control = &control;
    auto const backend = open(options);
    ASSERT_TRUE(backend) << backend.error().describe();
    auto kernel = (*backend)->begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    cancelled = true;
    auto const groups = (*kernel)->group();
    ASSERT_FALSE(groups);
    EXPECT_EQ(groups.error().code(), ErrorCode::cancelled);
  }

  static bool too_large(std::uint64_t rows) { return rows > testing::max_test_rows(); }
};

/// On Vulkan: a validation message fails the test that caused it.
using GroupKernelTest = GroupKernelTestOn<GraphicsDeviceTest>;

}  // namespace garuda::testing
