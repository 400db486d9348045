#include "operators/run/join_slices.hpp"

#include <gtest/gtest.h>

namespace garuda::run {
namespace {

TEST(JoinSlices, CoverEveryPairOfRowsOnce) {
  std::vector<std::uint64_t> const left{0, 5, 5, 12};
  std::vector<std::uint64_t> const right{0, 3, 9, 10};
  auto const slices = cut_slices(left, right, 2);
  std::vector<std::vector<int>> seen(12, std::vector<int>(10, 0));
  for (auto const& slice : slices) {
    EXPECT_LE(slice.left.size(), 2U);
    EXPECT_LE(slice.right.size(), 2U);
    for (auto l = slice.left.begin; l < slice.left.end; ++l)
      for (auto r = slice.right.begin; r < slice.right.end; ++r) ++seen[l][r];
  }
  for (std::size_t l = 0; l < 12; ++l)
    for (std::size_t r = 0; r < 10; ++r) {
      auto const same_partition = (l < 5 && r < 3) || (l >= 5 && r >= 9);
      EXPECT_EQ(seen[l][r], same_partition ? 1 : 0) << l << ' ' << r;
    }
}

TEST(JoinSlices, LeaveOutPartitionsWithAnEmptySide) {
  EXPECT_TRUE(cut_slices({0, 0, 4}, {0, 7, 7}, 100).empty());
  EXPECT_TRUE(cut_slices({0, 0}, {0, 0}, 100).empty());
}

TEST(JoinSlices, ProbeSlicesShareTheSmallerSide) {
  std::vector<std::uint64_t> const left{0, 10, 10, 40};
  std::vector<std::uint64_t> const right{0, 4, 9, 129};
  auto const slices = cut_probe_slices(left, right, {20, 50}, BuildSide::automatic);
  std::vector<SliceTask> const expected{{0, {0, 10}, {0, 4}, Side::right},    {2, {10, 30}, {9, 59}, Side::left},
                                        {2, {10, 30}, {59, 109}, Side::left}, {2, {10, 30}, {109, 129}, Side::left},
                                        {2, {30, 40}, {9, 59}, Side::left},   {2, {30, 40}, {59, 109}, Side::left},
                                        {2, {30, 40}, {109, 129}, Side::left}};
  EXPECT_EQ(slices, expected);
  for (auto const& slice : cut_probe_slices(left, right, {20, 50}, BuildSide::right))
    EXPECT_EQ(slice.build, Side::right);
}

TEST(JoinSlices, SidesAboutAsLargeAreBuiltOnAsFavoured) {
  std::vector<std::uint64_t> const left{0, 10, 30, 40};
  std::vector<std::uint64_t> const right{0, 20, 30, 52};
  using Sides = std::vector<std::optional<Side>>;
  auto const sides = [&](BuildSide build, std::optional<Side> favoured) {
    Sides built;
    for (auto const& slice : cut_probe_slices(left, right, {50, 50}, build, favoured)) built.push_back(slice.build);
    return built;
  };
  EXPECT_EQ(sides(BuildSide::automatic, Side::right), (Sides{Side::right, Side::right, Side::left}));
  EXPECT_EQ(sides(BuildSide::automatic, Side::left), (Sides{Side::left, Side::left, Side::left}));
  EXPECT_EQ(sides(BuildSide::automatic, std::nullopt), (Sides{Side::left, Side::right, Side::left}));
  EXPECT_EQ(sides(BuildSide::right, Side::left), (Sides{Side::right, Side::right, Side::right}));
}

TEST(JoinSlices, GroupsTakeConsecutiveSlices) {
  auto const slice = [](std::uint64_t left, std::uint64_t right) { return SliceTask{0, {0, left}, {0, right}, {}}; };
  EXPECT_EQ(group_slices({}, 10), (std::vector<std::size_t>{0}));
  EXPECT_EQ(group_slices({slice(3, 1), slice(1, 3), slice(4, 4), slice(5, 50), slice(1, 1)}, 10),
            (std::vector<std::size_t>{0, 3, 4, 5}));
  EXPECT_EQ(group_slices({slice(3, 1)}, 10), (std::vector<std::size_t>{0, 1}));
}

TEST(JoinSlices, SplitTheLargerSideUntilSmall) {
  SliceTask const slice{3, {10, 10 + 5000}, {0, 4000}};
  auto const halves = split_slice(slice);
  ASSERT_TRUE(halves);
  EXPECT_EQ((*halves)[0], (SliceTask{3, {10, 2510}, {0, 4000}}));
  EXPECT_EQ((*halves)[1], (SliceTask{3, {2510, 5010}, {0, 4000}}));
  EXPECT_FALSE(split_slice({0, {0, contract::kSmallestSplitRows - 1}, {0, 1}}));
}

}  // namespace
}  // namespace garuda::run
