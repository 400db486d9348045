#include "operators/plan/join_planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "keys/numbering/mix.hpp"

namespace garuda::plan {
namespace {

keys::EncodedKeys keys_of(std::vector<std::uint32_t> const& words) {
  keys::EncodedKeys keys;
  keys.num_rows = keys.table_rows = words.size();
  keys.words = words.data();
  if (words.empty()) return keys;
  auto const [min, max] = std::ranges::minmax(words);
  keys.min = min;
  keys.max = max;
  return keys;
}

std::vector<std::uint32_t> drawn(std::size_t rows, std::uint64_t distinct) {
  std::vector<std::uint32_t> words(rows);
  for (std::size_t i = 0; i < rows; ++i) words[i] = static_cast<std::uint32_t>(keys::mix(i) % distinct);
  return words;
}

TEST(KeyStatistics, SmallTablesAreCountedExactly) {
  std::vector<std::uint32_t> const words{5, 5, 5, 7, 9};
  auto const statistics = sample_keys(keys_of(words));
  EXPECT_DOUBLE_EQ(statistics.distinct, 3);
  EXPECT_DOUBLE_EQ(statistics.heaviest_share, 0.6);
  EXPECT_DOUBLE_EQ(sample_keys(keys_of({})).distinct, 1);
}

TEST(KeyStatistics, DistinctKeysOfLargeTablesAreEstimated) {
  for (std::uint64_t const distinct : {100ULL, 10'000ULL, 1'000'000ULL}) {
    auto const words = drawn(1'000'000, distinct);
    auto const estimate = sample_keys(keys_of(words)).distinct;
    EXPECT_GT(estimate, 0.4 * static_cast<double>(distinct)) << distinct;
    EXPECT_LT(estimate, 2.5 * static_cast<double>(distinct)) << distinct;
  }
}

}  // namespace
}  // namespace garuda::plan
