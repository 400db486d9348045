// Runs of a device path's group-by kernel over the cases of group_problem.hpp, on the one driver of this process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "operators/group_by_kernel.hpp"
#include "operators/stats_sink.hpp"
#include "tests/operators/graphics_device.hpp"
#include "tests/operators/group_problem.hpp"

namespace garuda::testing {

inline constexpr operators::StateSet kAllStates =
    operators::kCountState | operators::kSumState | operators::kMinState | operators::kMaxState;
inline constexpr std::array kKinds{operators::ValueKind::int32,  operators::ValueKind::uint32,
                                   operators::ValueKind::int64,  operators::ValueKind::uint64,
                                   operators::ValueKind::int128, operators::ValueKind::float32,
                                   operators::ValueKind::float64};

inline constexpr std::array kShapes{
    KeyShape{32, 0, false, false}, KeyShape{32, 0, true, false}, KeyShape{64, 0, false, false},
    KeyShape{64, 0, true, false},  KeyShape{0, 0, false, false}, KeyShape{0, 1, false, false},
    KeyShape{0, 2, false, false},  KeyShape{0, 3, false, false}, KeyShape{0, 4, false, true},
    KeyShape{0, 5, false, false},  KeyShape{0, 9, false, false}, KeyShape{0, 31, false, false}};

/// Counters and notes of a run.
class Counters final : public operators::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t, std::uint64_t) override {
    std::lock_guard const lock(mutex_);
    phases_[std::string(name)] += ns;
  }
  void add_counter(std::string_view name, std::uint64_t value) override {
    std::lock_guard const lock(mutex_);
    values_[std::string(name)] += value;
  }
  void max_counter(std::string_view name, std::uint64_t value) override {
    std::lock_guard const lock(mutex_);
    auto& kept = values_[std::string(name)];
    kept = std::max(kept, value);
  }
  void note(std::string text) override { notes_.push_back(std::move(text)); }

  std::uint64_t value(std::string const& name) const {
    auto const found = values_.find(name);
    return found == values_.end() ? 0 : found->second;
  }
  std::map<std::string, std::uint64_t> const& phases() const { return phases_; }
  std::vector<std::string> const& notes() const { return notes_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> values_;
  std::map<std::string, std::uint64_t> phases_;
  std::vector<std::string> notes_;
};

/// What tests of the device paths share, over the fixture that opens the device.
template <class DeviceTest>
class GroupKernelTestOn : public DeviceTest {
 protected:
  /// Groups and checks them.
  static void expect_groups(operators::GroupByKernel& kernel, GroupProblem const& problem) {
    auto const groups = kernel.group();
    ASSERT_TRUE(groups) << groups.error().describe();
    ASSERT_EQ(*groups, problem.heads().size());
    std::vector<std::uint32_t> heads(*groups);
    auto const got_heads = kernel.heads(heads);
    ASSERT_TRUE(got_heads) << got_heads.error().describe();
    ASSERT_TRUE(heads == problem.heads());
    std::vector<std::uint32_t> ids(problem.ids().size());
    auto const got_ids = kernel.group_ids(ids);
    ASSERT_TRUE(got_ids) << got_ids.error().describe();
    ASSERT_TRUE(ids == problem.ids());
  }

  static void expect_states(operators::GroupByKernel& kernel, GroupProblem const& problem, ValueColumn const& column,
                            operators::StateSet states) {
    auto const state = kernel.aggregate(column.input(states));
    ASSERT_TRUE(state) << state.error().describe();
    column.expect_states(*state, states, problem);
  }

  /// Groups a case and aggregates `columns` columns of it, whose kinds, values, nulls and states take turns.
  static void run(operators::GroupByBackend& backend, GroupCase const& group_case, std::uint32_t columns) {
    GroupProblem const problem(group_case);
    auto kernel = backend.begin(problem.slice(), 0);
    ASSERT_TRUE(kernel) << kernel.error().describe();
    expect_groups(**kernel, problem);
    for (std::uint32_t i = 0; i < columns && !::testing::Test::HasFatalFailure(); ++i) {
      auto const turn = group_case.seed + i;
      auto const kind = kKinds.at(turn % kKinds.size());
      auto const values = static_cast<ValuePattern>(turn / 2 % kNumValuePatterns);
      bool const nulls = turn % 3 == 0;
      auto const states = static_cast<operators::StateSet>(turn % 5 == 0 ? 1 + turn / 5 % 15 : kAllStates);
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " values " +
                   std::to_string(static_cast<int>(values)) + " states " + std::to_string(states));
      expect_states(**kernel, problem, ValueColumn(kind, values, nulls, group_case.rows, turn), states);
    }
  }

  static bool too_large(std::uint64_t rows) {
    char const* const most = std::getenv("GARUDA_TEST_MAX_ROWS");
    return most != nullptr && rows > std::stoull(most);
  }
};

/// On Vulkan: a validation message fails the test that caused it.
using GroupKernelTest = GroupKernelTestOn<GraphicsDeviceTest>;

}  // namespace garuda::testing
