#include "bench/workloads/random.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace garuda::bench {
namespace {

TEST(Permutation, HitsEveryPositionOnce) {
  for (std::uint64_t const size : {1ULL, 2ULL, 3ULL, 4ULL, 5ULL, 8ULL, 9ULL, 255ULL, 256ULL, 257ULL, 65'537ULL}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Permutation const permutation(size, seed);
      std::vector<bool> hit(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        auto const position = permutation(i);
        ASSERT_LT(position, size);
        ASSERT_FALSE(hit[position]) << "size " << size << " seed " << seed;
        hit[position] = true;
      }
    }
  }
}

// A shuffle of n has n/2 neighbours out of order and one fixed point on average.
TEST(Permutation, LooksShuffled) {
  constexpr std::uint64_t kSize = 100'000;
  Permutation const permutation(kSize, 7);
  std::uint64_t descents = 0;
  std::uint64_t fixed_points = 0;
  for (std::uint64_t i = 0; i < kSize; ++i) {
    fixed_points += permutation(i) == i ? 1 : 0;
    if (i > 0) descents += permutation(i) < permutation(i - 1) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(descents), kSize / 2.0, 500);
  EXPECT_LT(fixed_points, 12U);
}

TEST(Permutation, DependsOnTheSeedAlone) {
  Permutation const first(1000, 1);
  Permutation const again(1000, 1);
  Permutation const other(1000, 2);
  std::uint64_t equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(first(i), again(i));
    equal += first(i) == other(i) ? 1 : 0;
  }
  EXPECT_LT(equal, 15U);
}

TEST(RowRandom, StaysBelowTheBoundAndReachesAllOfIt) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t row = 0; row < 1000; ++row) {
    RowRandom random(3, row);
    auto const value = random.next_below(7);
    ASSERT_LT(value, 7U);
    seen.insert(value);
    auto const unit = random.next_unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
  }
  EXPECT_EQ(seen.size(), 7U);
}

}  // namespace
}  // namespace garuda::bench
