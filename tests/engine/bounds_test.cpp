// Numbers that callers give: what is out of bounds is refused with a sentence, and what is in them runs.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/group_states.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::TestTable;
using testing::value_of;

class Bounds : public ::testing::Test {
 protected:
  Engine engine_ = value_of(Engine::create({.vulkan = false, .cuda = false, .calibration_folder = ""}));
  Table owned_ = TestTable()
                     .add(testing::TestColumn<std::int32_t>{"a", testing::type_of(TypeId::int32), {1, 2, 3, 3}, {}})
                     .build();
  TableView table_ = owned_.view();
  JoinSpec spec_{.on = {{"a", "a"}}};

  /// The sentence that a join is refused with; empty: it ran.
  std::string refusal(JoinOptions const& options) {
    auto const counted = engine_.join_count(table_, table_, spec_, options);
    auto const joined = engine_.join(table_, table_, spec_, options);
    EXPECT_EQ(counted.has_value(), joined.has_value());
    EXPECT_EQ(counted.has_value(), engine_.explain_join(table_, table_, spec_, options).has_value());
    if (joined) {
      EXPECT_EQ(value_of(collect(**joined)).num_rows(), 6);
      return "";
    }
    EXPECT_EQ(joined.error().code(), ErrorCode::usage);
    return joined.error().message();
  }
  std::string refusal(GroupByOptions const& options) {
    GroupBySpec const spec{.keys = {"a"}, .aggregates = {}};
    auto const grouped = engine_.group_by(table_, spec, options);
    EXPECT_EQ(grouped.has_value(), engine_.explain_group_by(table_, spec, options).has_value());
    if (grouped) {
      EXPECT_EQ(value_of(collect(**grouped)).num_rows(), 3);
      return "";
    }
    EXPECT_EQ(grouped.error().code(), ErrorCode::usage);
    return grouped.error().message();
  }
};

TEST_F(Bounds, OfThreads) {
  JoinOptions join;
  GroupByOptions group_by;
  for (auto const threads : {kMostThreads, 1U, 0U}) {
    join.threads = group_by.threads = threads;
    EXPECT_EQ(refusal(join), "");
    EXPECT_EQ(refusal(group_by), "");
  }
  for (auto const threads : {kMostThreads + 1, 100'000U, std::numeric_limits<std::uint32_t>::max()}) {
    auto const sentence = "threads must be at most 4096: " + std::to_string(threads);
    join.threads = group_by.threads = threads;
    EXPECT_EQ(refusal(join), sentence);
    EXPECT_EQ(refusal(group_by), sentence);
    auto const measured = engine_.calibrate({.device = "host", .threads = threads, .control = {}});
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().message(), sentence);
  }
}

TEST_F(Bounds, OfJoinTuning) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::function<void(JoinTuning&)>> const wrong{
      [](auto& tuning) { tuning.radix_bits = 17; },
      [](auto& tuning) { tuning.radix_bits = -2; },
      [](auto& tuning) { tuning.slice_rows = (1U << 24) + 1; },
      [](auto& tuning) { tuning.lanes = 257; },
      [](auto& tuning) { tuning.lanes = kMost; },
      [](auto& tuning) { tuning.chunk_rows = kMost; },
      [](auto& tuning) { tuning.build = static_cast<BuildSide>(9); },
      [](auto& tuning) { tuning.method = static_cast<JoinMethod>(200); },
  };
  for (auto const& set : wrong) {
    JoinOptions options;
    set(options.tuning);
    EXPECT_TRUE(refusal(options).starts_with("tuning value of ")) << &set - wrong.data();
  }
  JoinOptions greatest;
  greatest.tuning.radix_bits = 16;
  greatest.tuning.slice_rows = 1U << 24;
  greatest.tuning.lanes = 256;
  greatest.tuning.chunk_rows = 1U << 30;
  EXPECT_EQ(refusal(greatest), "");
}

TEST_F(Bounds, OfGroupByTuning) {
  for (auto const bits : {17, 31, 64, -2}) {
    GroupByOptions options;
    options.tuning.radix_bits = bits;
    EXPECT_EQ(refusal(options), "tuning value of radix_bits must be auto or 0 to 16: " + std::to_string(bits));
  }
  GroupByOptions options;
  options.tuning.lanes = 257;
  EXPECT_EQ(refusal(options), "tuning value of lanes must be auto or 1 to 256: 257");
  GroupByOptions named;
  named.tuning.grouping = static_cast<Grouping>(77);
  EXPECT_TRUE(refusal(named).starts_with("tuning value of grouping must be auto, "));
}

/// Limits that nothing keeps, and numbers of rows that nothing has.
TEST_F(Bounds, OfMemoryAndRows) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  JoinOptions options;
  options.expected_rows = kMost;
  options.memory_limit_bytes = kMost;
  options.device_memory_limit_bytes = kMost;
  EXPECT_EQ(refusal(options), "");
  options.memory_limit_bytes = 1;
  auto const joined = engine_.join(table_, table_, spec_, options);
  if (!joined) {
    EXPECT_EQ(joined.error().code(), ErrorCode::limit_exceeded);
  }
}

}  // namespace
}  // namespace garuda
