#include "bench/workloads/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace garuda::bench {
namespace {

std::vector<std::uint64_t> draw(std::uint64_t num_ranks, double exponent, std::uint64_t draws) {
  ZipfSampler const sampler(num_ranks, exponent);
  std::vector<std::uint64_t> counts(num_ranks);
  for (std::uint64_t row = 0; row < draws; ++row) {
    RowRandom random(11, row);
    auto const rank = sampler(random);
    if (rank < num_ranks) ++counts[rank];
  }
  return counts;
}

// Chi-square against the exact probabilities: with 99 degrees of freedom it exceeds 149 once in a thousand times, and
// the draws are fixed by their seed.
TEST(Zipf, FollowsTheExactProbabilities) {
  constexpr std::uint64_t kRanks = 100;
  constexpr std::uint64_t kDraws = 200'000;
  for (double const exponent : {0.0, 0.25, 0.5, 0.999'999'999, 1.0, 1.000'000'001, 1.5, 3.0}) {
    auto const counts = draw(kRanks, exponent, kDraws);
    double norm = 0;
    for (std::uint64_t rank = 1; rank <= kRanks; ++rank) norm += std::pow(static_cast<double>(rank), -exponent);
    double chi_square = 0;
    std::uint64_t total = 0;
    for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
      auto const expected = kDraws * std::pow(static_cast<double>(rank + 1), -exponent) / norm;
      chi_square += std::pow(static_cast<double>(counts[rank]) - expected, 2) / expected;
      total += counts[rank];
    }
    EXPECT_EQ(total, kDraws) << "every draw is a rank, exponent " << exponent;
    EXPECT_LT(chi_square, 149) << "exponent " << exponent;
  }
}

TEST(Zipf, HandlesOneRankAndVeryMany) {
  EXPECT_EQ(draw(1, 1.0, 100)[0], 100U);
  ZipfSampler const sampler(std::uint64_t{1} << 40, 1.0);
  for (std::uint64_t row = 0; row < 1000; ++row) {
    RowRandom random(5, row);
    EXPECT_LT(sampler(random), std::uint64_t{1} << 40);
  }
}

}  // namespace
}  // namespace garuda::bench
