// Group-bys of rows in device memory against groups found one row at a time: every method forced.
#include "operators/compute/group_by/resident_group_by.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "tests/compute/compute_device.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::compute {
namespace {

using testing::ComputeLane;
using testing::value_of;
using Function = ResidentFunction;

/// How rows fall into groups.
struct Case {
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;  ///< 0: every row its own
  std::uint32_t key_words = 1;
  bool spread = false;         ///< keys over the whole width, else 0, 1, …
  std::uint64_t heavy = 0;     ///< of 16 rows, so many are of group 0
  std::uint64_t expected = 0;  ///< groups announced; 0: those there are
};

std::string to_string(Case const& c) {
  return "rows " + std::to_string(c.rows) + " groups " + std::to_string(c.groups) + " words " +
         std::to_string(c.key_words) + (c.spread ? " spread" : "") + " heavy " + std::to_string(c.heavy) +
         " expected " + std::to_string(c.expected);
}

/// Columns of a case: keys, a 32-bit and a 64-bit one.
struct Columns {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> narrow;
  std::vector<std::uint64_t> wide;
};

Columns columns_of(Case const& c) {
  Columns columns;
  auto const key_of = [&](std::uint64_t group) {
    if (!c.spread) return group;
    return c.key_words == 2 ? keys::mix(group) : (group * 0x9E37'79B1) & 0xFFFF'FFFF;
  };
  for (std::uint64_t row = 0; row < c.rows; ++row) {
    auto const random = keys::mix(row + 77);
    auto const group = c.groups == 0 ? row : random % 16 < c.heavy ? 0 : random / 16 % c.groups;
    columns.keys.push_back(key_of(group));
    columns.narrow.push_back(static_cast<std::uint32_t>(keys::mix(row)));
    // Sums of 2^20 rows keep to 64 bits.
    columns.wide.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(keys::mix(~row)) >> 20));
  }
  return columns;
}

struct Group {
  std::uint32_t count = 0;
  std::int64_t sum = 0;
  std::uint64_t unsigned_sum = 0;
  std::int64_t wide_sum = 0;
  std::uint64_t unsigned_wide_sum = 0;
  std::int32_t min = std::numeric_limits<std::int32_t>::max();
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
  std::uint32_t unsigned_min = ~0U;
  std::uint32_t unsigned_max = 0;
};

std::map<std::uint64_t, Group> groups_of(Columns const& columns) {
  std::map<std::uint64_t, Group> groups;
  for (std::size_t row = 0; row < columns.keys.size(); ++row) {
    auto& group = groups[columns.keys[row]];
    auto const value = static_cast<std::int32_t>(columns.narrow[row]);
    ++group.count;
    group.sum += value;
    group.unsigned_sum += columns.narrow[row];
    group.wide_sum += static_cast<std::int64_t>(columns.wide[row]);
    group.unsigned_wide_sum += columns.wide[row] & 0xFFFF'FFFF'FFFU;
    group.min = std::min(group.min, value);
    group.max = std::max(group.max, value);
    group.unsigned_min = std::min(group.unsigned_min, columns.narrow[row]);
    group.unsigned_max = std::max(group.unsigned_max, columns.narrow[row]);
  }
  return groups;
}

std::uint64_t expected_of(Function function, Group const& group) {
  switch (function) {
    case Function::count:
      return group.count;
    case Function::sum_i32:
      return static_cast<std::uint64_t>(group.sum);
    case Function::sum_u32:
      return group.unsigned_sum;
    case Function::total_i64:
      return static_cast<std::uint64_t>(group.wide_sum);
    case Function::total_u64:
      return group.unsigned_wide_sum;
    case Function::min_i32:
      return static_cast<std::uint32_t>(group.min);
    case Function::min_u32:
      return group.unsigned_min;
    case Function::max_i32:
      return static_cast<std::uint32_t>(group.max);
    case Function::max_u32:
      return group.unsigned_max;
    default:
      return 0;
  }
}

bool is_wide(Function function) { return function == Function::total_i64 || function == Function::total_u64; }
bool is_sum(Function function) {
  return is_wide(function) || function == Function::sum_i32 || function == Function::sum_u32;
}

/// Sets of aggregates that cases take in turn.
std::vector<Function> functions_of(std::size_t turn) {
  std::vector<std::vector<Function>> const sets{
      {Function::sum_i32},
      {Function::count, Function::sum_u32, Function::min_i32, Function::max_u32},
      {},
      {Function::total_i64, Function::max_i32, Function::min_u32},
      {Function::total_u64, Function::count}};
  return sets[turn % sets.size()];
}

class ResidentGroupByTest : public testing::ComputeDeviceTest {
 protected:
  static void expect_groups(Case const& c, GroupMethod method, std::vector<Function> const& functions,
                            std::function<void(ResidentGrouping&)> const& resize = nullptr) {
    SCOPED_TRACE(to_string(c) + " method " + std::to_string(static_cast<int>(method)));
    auto columns = columns_of(c);
    auto const unsigned_wide = std::ranges::find(functions, Function::total_u64) != functions.end();
    if (unsigned_wide)
      for (auto& value : columns.wide) value &= 0xFFFF'FFFF'FFFU;
    ComputeLane lane(device(), store(), tuning());
    std::vector<std::uint32_t> const narrow_keys(columns.keys.begin(), columns.keys.end());
    auto const keys = c.key_words == 2 ? lane.upload(columns.keys) : lane.upload(narrow_keys);
    auto const narrow = lane.upload(columns.narrow);
    auto const wide = lane.upload(columns.wide);
    std::vector<ResidentAggregate> aggregates;
    for (auto const function : functions) aggregates.push_back({function, is_wide(function) ? 1U : 0U});
    auto const expected = groups_of(columns);
    DeviceRows const rows{c.rows, {keys.address(), c.key_words}, {{narrow.address(), 1}, {wide.address(), 2}}, false};
    auto grouping = choose_resident_grouping(c.rows, c.expected == 0 ? expected.size() : c.expected,
                                             resident_state_words(aggregates), method, lane.tuning());
    if (resize) resize(grouping);
    auto group_by = value_of(ResidentGroupBy::create(lane.context(), rows, aggregates, grouping));
    for (int run = 0; run < 2; ++run) {
      testing::succeed(group_by.record(lane.context()));
      auto const result = value_of(group_by.finish(lane.context()));
      ASSERT_EQ(result.groups, expected.size());
      compare(lane, c, functions, result, expected);
      if (HasFatalFailure()) return;
    }
  }

  static void compare(ComputeLane& lane, Case const& c, std::vector<Function> const& functions,
                      ResidentGroups const& result, std::map<std::uint64_t, Group> const& expected) {
    std::vector<std::uint64_t> keys;
    if (c.key_words == 2) {
      keys = lane.download<std::uint64_t>(*result.keys, result.groups);
    } else {
      auto const narrow = lane.download<std::uint32_t>(*result.keys, result.groups);
      keys.assign(narrow.begin(), narrow.end());
    }
    auto sorted = keys;
    std::ranges::sort(sorted);
    ASSERT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end()) << "a key comes twice";
    for (std::size_t a = 0; a < functions.size(); ++a) {
      std::vector<std::uint64_t> values;
      if (is_wide(functions[a])) {
        auto const words = lane.download<std::uint32_t>(*result.aggregates[a], 3 * result.groups);
        for (std::size_t g = 0; g < result.groups; ++g) {
          values.push_back(words[3 * g] | std::uint64_t{words[3 * g + 1]} << 32);
          bool const is_negative = functions[a] == Function::total_i64 && values.back() >> 63 != 0;
          ASSERT_EQ(words[3 * g + 2], is_negative ? ~0U : 0U);
        }
      } else if (is_sum(functions[a]) || functions[a] == Function::count) {
        values = lane.download<std::uint64_t>(*result.aggregates[a], result.groups);
      } else {
        auto const narrow = lane.download<std::uint32_t>(*result.aggregates[a], result.groups);
        values.assign(narrow.begin(), narrow.end());
      }
      for (std::size_t g = 0; g < keys.size(); ++g) {
        auto const found = expected.find(keys[g]);
        ASSERT_TRUE(found != expected.end()) << "no row has the key " << keys[g];
        ASSERT_EQ(values[g], expected_of(functions[a], found->second)) << "aggregate " << a << " of key " << keys[g];
      }
    }
  }

  static bool too_large(std::uint64_t rows) { return rows > testing::max_test_rows(); }
};

constexpr std::array kMethods{GroupMethod::shared, GroupMethod::hash, GroupMethod::partitioned};

TEST_F(ResidentGroupByTest, EverySmallCase) {
  std::size_t turn = 0;
  for (auto const method : kMethods)
    for (std::uint64_t const rows : {1, 255, 257, 2000})
      for (std::uint64_t const groups : {1, 2, 64, 0}) {
        if (too_large(rows)) continue;
        // Each combination of functions and widths of keys compiles passes of its own.
        ++turn;
        if (!testing::takes_case(turn)) continue;
        expect_groups({rows, groups, 1 + static_cast<std::uint32_t>(turn % 2), turn / 2 % 2 == 0, 0, 0}, method,
                      functions_of(turn));
        if (HasFatalFailure()) return;
      }
}

TEST_F(ResidentGroupByTest, LargerCases) {
  constexpr std::uint64_t kRows = 50'003;
  if (too_large(kRows)) GTEST_SKIP() << "sanitizer builds run small cases";
  std::size_t turn = 0;
  for (auto const method : kMethods)
    for (std::uint64_t const groups : {16, 1000, 20'000, 0})
      for (std::uint64_t const heavy : {0, 14}) {
        ++turn;
        if (!testing::takes_case(turn)) continue;
        expect_groups({kRows, groups, 1 + static_cast<std::uint32_t>(turn % 2), turn % 3 == 0, heavy, 0}, method,
                      functions_of(turn));
        if (HasFatalFailure()) return;
      }
}

/// Far more groups than announced: tables and columns grow, shared tables run over.
TEST_F(ResidentGroupByTest, WrongEstimatesCostTimeOnly) {
  auto const rows = std::uint64_t{too_large(10'000) ? 257U : 10'000U};
  for (auto const method : kMethods)
    for (std::uint32_t const key_words : {1, 2}) {
      // SwiftShader takes each method with one width only: every width compiles passes of its own.
      if (!testing::takes_large_case() && key_words != 1 + static_cast<std::uint32_t>(method) % 2) continue;
      expect_groups({rows, 0, key_words, true, 0, 1}, method, functions_of(key_words));
      expect_groups({rows, 3, key_words, true, 0, rows}, method, functions_of(key_words + 2));
      if (HasFatalFailure()) return;
    }
}

/// Partitions and windows of many shapes: bits, slots and workgroups forced.
TEST_F(ResidentGroupByTest, ForcedSizes) {
  auto const rows = std::uint64_t{too_large(30'000) ? 257U : 30'000U};
  for (std::uint32_t const bits : {1, 4, 11})
    for (std::uint32_t const slots : {3, 64}) {
      if (bits != 4 && !testing::takes_large_case()) continue;
      expect_groups({rows, 500, 1, true, 8, 0}, GroupMethod::partitioned, functions_of(bits + slots),
                    [&](ResidentGrouping& grouping) {
                      grouping.radix_bits = bits;
                      grouping.slots = slots;
                      grouping.copies = 2;
                      grouping.group_size = 64;
                      grouping.items = 3;
                      grouping.window_rows = 1000;
                    });
      if (HasFatalFailure()) return;
    }
}

TEST_F(ResidentGroupByTest, SumsThatLeave64Bits) {
  for (auto const method : kMethods) {
    ComputeLane lane(device(), store(), tuning());
    std::vector<std::uint32_t> keys(300, 5);
    std::vector<std::uint64_t> values(300, 1);
    keys[7] = 9;
    keys[8] = 9;
    values[7] = std::uint64_t{1} << 62;
    values[8] = std::uint64_t{1} << 62;
    // Leaves 64 bits on the way and comes back.
    values[1] = values[2] = values[3] = std::uint64_t{1} << 62;
    values[4] = values[5] = values[6] = ~(std::uint64_t{1} << 62) + 1;
    auto const key_buffer = lane.upload(keys);
    auto const value_buffer = lane.upload(values);
    DeviceRows const rows{keys.size(), {key_buffer.address(), 1}, {{value_buffer.address(), 2}}, false};
    std::vector<ResidentAggregate> const total{{Function::total_i64, 0}};
    auto const grouping = choose_resident_grouping(rows.rows, 2, resident_state_words(total), method, lane.tuning());
    auto sums = value_of(ResidentGroupBy::create(lane.context(), rows, total, grouping));
    testing::succeed(sums.record(lane.context()));
    auto const groups = value_of(sums.finish(lane.context()));
    ASSERT_EQ(groups.groups, 2U);
    auto const found = lane.download<std::uint32_t>(*groups.keys, 2);
    auto const words = lane.download<std::uint32_t>(*groups.aggregates[0], 6);
    auto const of_9 = found[0] == 9 ? 0U : 3U;
    EXPECT_EQ(std::vector<std::uint32_t>(words.begin() + of_9, words.begin() + of_9 + 3),
              (std::vector<std::uint32_t>{0, 0x8000'0000U, 0}));
    EXPECT_EQ(words[3 - of_9], 292U) << "leaves 64 bits on the way and comes back";
  }
}

TEST(ResidentGrouping, FollowsTheGroups) {
  constexpr auto kAny = GroupMethod::automatic;
  ComputeTuning tuning;
  tuning.shared_bytes = 49'152;
  constexpr auto kRows = std::uint64_t{1} << 27;
  auto const of = [&](std::uint64_t groups) { return choose_resident_grouping(kRows, groups, 2, kAny, tuning); };
  EXPECT_EQ(of(16).method, GroupMethod::shared);
  EXPECT_EQ(of(16).copies, 32U);
  EXPECT_EQ(of(1024).method, GroupMethod::shared);
  for (std::uint64_t const groups : {1U << 16, 1U << 20, 1U << 24, 85'000'000U}) {
    auto const grouping = of(groups);
    EXPECT_EQ(grouping.method, GroupMethod::partitioned);
    EXPECT_GT(grouping.slots, groups >> grouping.radix_bits);
    EXPECT_GE(grouping.window_rows, kRows >> grouping.radix_bits) << "partitions are taken whole";
  }
  EXPECT_LE(of(1U << 20).radix_bits, 9U) << "one pass";
  constexpr auto kSlotBytes = std::uint64_t{12};
  EXPECT_LT(of(1024).slots * kSlotBytes, 49'152U / 2) << "two tables at once";
  for (std::uint64_t const groups : {1U << 24, 85'000'000U}) {
    auto const grouping = of(groups);
    EXPECT_LE(grouping.radix_bits, 20U) << "two passes";
    EXPECT_LT(grouping.slots * kSlotBytes, 49'152U / 3) << "three tables at once";
    auto const tile = std::uint64_t{grouping.group_size} * grouping.items;
    auto const rows = kRows >> grouping.radix_bits;
    EXPECT_LE((rows + tile - 1) / tile * tile, rows + rows / 2) << "few invocations without a row";
  }
  EXPECT_EQ(choose_resident_grouping(1000, 16, 2, kAny, tuning).method, GroupMethod::hash)
      << "compiles ten times as fast";
  tuning.is_software = true;
  EXPECT_EQ(of(1U << 20).method, GroupMethod::hash);
}

}  // namespace
}  // namespace garuda::compute
