#include "tests/workloads/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tests/workloads/pairwise_cases.hpp"

namespace garuda::testing {
namespace {

std::uint64_t distinct(std::vector<std::uint64_t> const& words) { return std::set(words.begin(), words.end()).size(); }

std::uint64_t most_frequent(std::vector<std::uint64_t> const& words) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (auto const word : words) ++counts[word];
  std::uint64_t most = 0;
  for (auto const& [word, count] : counts) most = std::max(most, count);
  return most;
}

TEST(Workloads, PatternsAreWhatTheySay) {
  for (std::uint32_t const key_bits : {32U, 64U}) {
    auto const keys = [&](KeyPattern pattern, std::uint64_t left = 5'000, std::uint64_t right = 5'000) {
      return make_keys({key_bits, left, right, pattern, Nulls::none, 1});
    };
    auto const pairs = [&](KeyPattern pattern, std::uint64_t left = 5'000, std::uint64_t right = 5'000) {
      auto const sides = keys(pattern, left, right);
      return reference::reference_count(sides.left, sides.right);
    };
    EXPECT_EQ(pairs(KeyPattern::dense_unique), 5'000U);
    EXPECT_EQ(pairs(KeyPattern::stride_2_10), 5'000U);
    EXPECT_EQ(pairs(KeyPattern::stride_2_16), 5'000U);
    EXPECT_EQ(distinct(keys(KeyPattern::stride_2_16).left.words), 5'000U);
    EXPECT_GE(pairs(KeyPattern::random_unique), 2'500U);
    EXPECT_EQ(distinct(keys(KeyPattern::random_unique).right.words), 5'000U);
    EXPECT_EQ(pairs(KeyPattern::all_equal, 30, 40), 1'200U);
    EXPECT_EQ(pairs(KeyPattern::no_match), 0U);
    for (auto const pattern : {KeyPattern::zipf_0_5, KeyPattern::zipf_1_0, KeyPattern::zipf_1_5})
      EXPECT_EQ(pairs(pattern), 5'000U);
    EXPECT_LT(most_frequent(keys(KeyPattern::zipf_0_5).right.words), 200U);
    EXPECT_GT(most_frequent(keys(KeyPattern::zipf_1_0).right.words), 300U);
    EXPECT_GT(most_frequent(keys(KeyPattern::zipf_1_5).right.words), 1'500U);
    auto const capped = pairs(KeyPattern::zipf_both, 65'537, 65'537);
    EXPECT_LE(capped, std::uint64_t{1} << 20);
    EXPECT_GT(capped, std::uint64_t{9} << 16);
    auto const largest = key_bits == 32 ? 0xFFFF'FFFFU : std::numeric_limits<std::uint64_t>::max();
    for (auto const& side : {keys(KeyPattern::extremes).left, keys(KeyPattern::extremes).right}) {
      EXPECT_GE(std::ranges::count(side.words, 0U), 1);
      EXPECT_GE(std::ranges::count(side.words, largest), 1);
    }
  }
}

TEST(Workloads, NullsAreOnTheSidesAskedFor) {
  for (auto const nulls : {Nulls::none, Nulls::left, Nulls::right, Nulls::both}) {
    auto const keys = make_keys({32, 1'000, 1'000, KeyPattern::dense_unique, nulls, 1});
    auto const count = [](reference::Keys const& side) { return std::ranges::count(side.valid, false); };
    EXPECT_EQ(count(keys.left) > 50, nulls == Nulls::left || nulls == Nulls::both);
    EXPECT_EQ(count(keys.right) > 50, nulls == Nulls::right || nulls == Nulls::both);
  }
}

TEST(Workloads, ACaseAlwaysHasTheSameKeys) {
  JoinCase const join_case{64, 300, 200, KeyPattern::zipf_1_0, Nulls::both, 9};
  auto const once = make_keys(join_case);
  auto const again = make_keys(join_case);
  EXPECT_EQ(once.left.words, again.left.words);
  EXPECT_EQ(once.right.valid, again.right.valid);
}

TEST(Workloads, LargeCasesReachEveryValue) {
  std::set<std::uint64_t> sizes;
  std::set<KeyPattern> patterns;
  for (auto const& join_case : large_cases()) {
    sizes.insert(join_case.left_rows);
    patterns.insert(join_case.pattern);
    EXPECT_GT(std::max(join_case.left_rows, join_case.right_rows), 257U);
    EXPECT_TRUE(is_affordable(join_case.pattern, join_case.left_rows, join_case.right_rows)) << to_string(join_case);
  }
  EXPECT_EQ(sizes, (std::set<std::uint64_t>{0, 1, 7, 8, 9, 255, 256, 257, 3'000, 65'535, 65'537, 1'000'000}));
  EXPECT_EQ(patterns.size(), kNumKeyPatterns);
  EXPECT_EQ(small_cases().size(), 8U * 8 * kNumKeyPatterns * kNumNulls * 2);
}

TEST(PairwiseCases, CoverEveryAllowedPair) {
  std::vector<Axis> const axes{
      {"a", {"0", "1", "2"}}, {"b", {"0", "1"}}, {"c", {"0", "1", "2", "3"}}, {"d", {"0", "1"}}};
  // a=2 goes with b=0 only, and c=3 not with a=0 or a=1: so c=3 needs a=2 and b=0, and c=3 with b=1 is impossible.
  auto const allowed = [](std::span<std::size_t const> choice) {
    if (choice[0] == 2 && choice[1] == 1) return false;
    return !(choice[2] == 3 && (choice[0] == 0 || choice[0] == 1));
  };
  auto const result = pairwise_cases(axes, allowed);
  std::set<std::pair<AxisValue, AxisValue>> covered;
  for (auto const& choice : result.cases) {
    EXPECT_TRUE(allowed(choice)) << describe(axes, choice);
    for (std::size_t a = 0; a < axes.size(); ++a)
      for (std::size_t b = a + 1; b < axes.size(); ++b) covered.insert({{a, choice[a]}, {b, choice[b]}});
  }
  auto const all_pairs = 3 * 2 + 3 * 4 + 3 * 2 + 2 * 4 + 2 * 2 + 4 * 2;
  EXPECT_EQ(result.impossible, (std::vector<std::pair<AxisValue, AxisValue>>{
                                   {{0, 0}, {2, 3}}, {{0, 1}, {2, 3}}, {{0, 2}, {1, 1}}, {{1, 1}, {2, 3}}}));
  EXPECT_EQ(covered.size() + result.impossible.size(), static_cast<std::size_t>(all_pairs));
  EXPECT_LE(result.cases.size(), 16U);
  EXPECT_EQ(describe(axes, {1, 0, 3, 1}), "a=1 b=0 c=3 d=1");
}

}  // namespace
}  // namespace garuda::testing
