#include "bench/record.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "garuda/error.hpp"

namespace garuda::bench {
namespace {

using Samples = std::vector<std::uint64_t>;

TEST(Sampling, SummarisesOddAndEvenNumbersOfSamples) {
  EXPECT_EQ(summarise(Samples{5}), (Summary{5, 0, 5, 5, 1}));
  EXPECT_EQ(summarise(Samples{9, 1, 5}), (Summary{5, 4, 1, 9, 3}));
  EXPECT_EQ(summarise(Samples{10, 20, 30, 41}), (Summary{25, 10, 10, 41, 4}));
  EXPECT_EQ(summarise(Samples{}), Summary{});
}

TEST(Sampling, OneOutlierMovesNeitherMedianNorMad) {
  EXPECT_EQ(summarise(Samples{10, 11, 12, 13, 1'000'000}), (Summary{12, 1, 10, 1'000'000, 5}));
}

TEST(Sampling, FindsTheSampleOfTheMedian) {
  EXPECT_EQ(median_position(Samples{9, 1, 5}), 2U);
  EXPECT_EQ(median_position(Samples{40, 10, 30, 20}), 3U);
  EXPECT_THROW(static_cast<void>(median_position(Samples{})), LogicError);
}

TEST(Sampling, TellsRates) {
  EXPECT_DOUBLE_EQ(per_second(3, 1'500'000'000), 2.0);
  EXPECT_DOUBLE_EQ(per_second(3, 0), 0);
}

TEST(Sampling, SummarisesRatiosOfPairs) {
  auto const ratios = summarise_ratios(Samples{20, 30, 90}, Samples{10, 10, 60});
  EXPECT_DOUBLE_EQ(ratios.median, 2.0);
  EXPECT_DOUBLE_EQ(ratios.min, 1.5);
  EXPECT_DOUBLE_EQ(ratios.max, 3.0);
  EXPECT_THROW(static_cast<void>(summarise_ratios(Samples{1}, Samples{})), LogicError);
}

}  // namespace
}  // namespace garuda::bench
