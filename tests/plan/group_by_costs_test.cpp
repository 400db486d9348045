// How the CPU path groups, and what that costs, on recorded calibrations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "operators/contract/offers/costs.hpp"
#include "operators/plan/group_by_planner.hpp"
#include "tests/plan/planner_shapes.hpp"
#include "tests/plan/recorded_machine.hpp"

namespace garuda::plan {
namespace {

using testing::RecordedMachine;
using testing::summed_groups;

Grouping grouping_of(contract::GroupByShape const& shape, RecordedMachine const& recorded_machine,
                     std::uint64_t limit = 0) {
  GroupByOptions options;
  options.path = Path::cpu;
  options.memory_limit_bytes = limit;
  auto const planned = plan_group_by(shape, recorded_machine.machine, options);
  EXPECT_TRUE(planned) << planned.error().describe();
  return planned ? planned->offer.grouping : Grouping::automatic;
}

TEST(GroupByCosts, GroupingFollowsKeyRangeAndGroups) {
  RecordedMachine const recorded_machine("consumer");
  constexpr auto kRows = std::uint64_t{1} << 26;
  auto const sparse = [](std::uint64_t rows, std::uint64_t groups) {
    auto shape = summed_groups(rows, groups);
    shape.whole->slots = 0;
    shape.key_bits = 64;
    return shape;
  };
  EXPECT_EQ(grouping_of(summed_groups(kRows, 1 << 12), recorded_machine), Grouping::direct);
  EXPECT_EQ(grouping_of(summed_groups(kRows, 1 << 24), recorded_machine), Grouping::partitioned);
  for (auto const groups : {1 << 18, 1 << 20})
    EXPECT_NE(grouping_of(summed_groups(kRows, groups), recorded_machine), Grouping::direct)
        << "accumulators beyond the second-level cache";
  EXPECT_EQ(grouping_of(summed_groups(kRows, 1 << 20), recorded_machine, 1 << 30), Grouping::direct)
      << "no room to partition";
  auto gaps = summed_groups(1000, 1000);
  gaps.whole->slots = 1 << 24;
  EXPECT_NE(grouping_of(gaps, recorded_machine), Grouping::direct) << "more slots than rows are not worth clearing";
  EXPECT_EQ(grouping_of(sparse(kRows, 64), recorded_machine), Grouping::local);
  EXPECT_EQ(grouping_of(sparse(kRows, 1 << 24), recorded_machine), Grouping::partitioned);
  EXPECT_EQ(grouping_of(sparse(kRows, 64), recorded_machine, 1 << 28), Grouping::slices) << "no memory for more";
  auto none = summed_groups(kRows, 1);
  none.key_bits = 0;
  none.whole = contract::WholeSizes{false, 1, 9, 0};
  EXPECT_EQ(grouping_of(none, recorded_machine), Grouping::direct);
  auto words = summed_groups(kRows, 1000);
  words.key_bits = 0;
  words.key_words = 4;
  words.whole->slots = 0;
  EXPECT_EQ(grouping_of(words, recorded_machine), Grouping::local);
  words.whole.reset();
  EXPECT_EQ(grouping_of(words, recorded_machine), Grouping::slices);
}

// Medians beside deviations of 10^8 rows in 10^4 groups: one thread would merge 16 slices' lists.
TEST(GroupByCosts, LongListsAreNotMergedSliceBySlice) {
  RecordedMachine const recorded_machine("h200", "h200_host");
  auto shape = summed_groups(100'000'000, 10'000);
  shape.threads = 16;
  contract::StateRequest const list{contract::ValueKind::float64, contract::kListState, false};
  contract::StateRequest const wide{contract::ValueKind::int128, contract::kSumState, false};
  shape.requests = {list, wide, wide, wide};
  shape.whole->row_bytes = 4 + 4 + 8 + 12 + 3 * 16;
  EXPECT_EQ(grouping_of(shape, recorded_machine), Grouping::partitioned);
}

TEST(GroupByCosts, GroupingsThatTheKeysDoNotAllowAreRefused) {
  RecordedMachine const recorded_machine("consumer");
  GroupByOptions options;
  options.path = Path::cpu;
  options.tuning.grouping = Grouping::direct;
  auto shape = summed_groups(1000, 9);
  shape.whole->slots = 0;
  auto const refused = plan_group_by(shape, recorded_machine.machine, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  EXPECT_EQ(refused.error().message(), "grouping=direct needs a key range of at most 268435456 values");
}

TEST(GroupByCosts, KeysWithoutIntegersAreEncodedAtAPrice) {
  RecordedMachine const recorded_machine("consumer");
  GroupByOptions options;
  options.path = Path::cpu;
  auto const encode_ns = [&](contract::GroupByShape const& shape) {
    auto const planned = plan_group_by(shape, recorded_machine.machine, options);
    EXPECT_TRUE(planned);
    auto const& phases = planned->plan.candidates.at(0).phases_ns;
    return std::ranges::find(phases, "encode", [](auto const& phase) { return phase.first; })->second;
  };
  auto shape = summed_groups(1'000'000, 1000);
  shape.threads = 2;
  auto const of_integers = encode_ns(shape);
  shape.coded_columns = 2;
  EXPECT_NEAR(encode_ns(shape), of_integers + 1e6 * contract::kCodedKeyNs, 1);
  shape.numbered_columns = 1;
  EXPECT_NEAR(encode_ns(shape), of_integers + 1e6 * (contract::kCodedKeyNs + contract::kNumberedKeyNs / 2), 1);
  shape.estimated_groups = 1 << 20;
  EXPECT_EQ(contract::given_code_costs(shape).at(0).second,
            1e6 * (contract::kCodedKeyNs + contract::kNumberedAmongManyNs / 2));
}

}  // namespace
}  // namespace garuda::plan
