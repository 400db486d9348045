#include "keys/samples/match_sample.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace garuda::keys {
namespace {

template <class Word>
EncodedKeys encoded(std::vector<Word> const& words) {
  EncodedKeys keys;
  keys.key_bits = 8 * sizeof(Word);
  keys.num_rows = words.size();
  keys.table_rows = words.size();
  keys.words = words.data();
  return keys;
}

/// Keys 0 … rows - 1 in some order.
std::vector<std::uint32_t> shuffled(std::uint32_t rows) {
  std::vector<std::uint32_t> keys(rows);
  for (std::uint32_t i = 0; i < rows; ++i) keys[i] = i;
  std::shuffle(keys.begin(), keys.end(), std::mt19937(rows));
  return keys;
}

TEST(MatchSample, FindsTheShareThatMatches) {
  auto const build = shuffled(1 << 20);
  std::mt19937_64 random(1);
  for (double const share : {1.0, 0.5, 0.03}) {
    std::vector<std::uint32_t> probe(3 << 20);
    for (auto& key : probe) {
      key = static_cast<std::uint32_t>(random() % build.size());
      if (static_cast<double>(random() % 1'000) >= 1'000 * share) key += 1 << 20;
    }
    auto const expected = share * static_cast<double>(probe.size());
    EXPECT_NEAR(expected_matches(encoded(build), encoded(probe)), expected, 0.15 * expected + 0.01 * 3e6);
    EXPECT_EQ(expected_matches(encoded(probe), encoded(build)), expected_matches(encoded(build), encoded(probe)));
  }
}

TEST(MatchSample, CountsEveryPairOfEqualKeys) {
  std::vector<std::uint64_t> const left(10'000, 7);
  std::vector<std::uint64_t> const right(500, 7);
  EXPECT_DOUBLE_EQ(expected_matches(encoded(left), encoded(right)), 5e6);
}

TEST(MatchSample, IsNeverNothingButForEmptySides) {
  std::vector<std::uint32_t> const none;
  std::vector<std::uint32_t> const one{1};
  std::vector<std::uint32_t> const two{2};
  EXPECT_EQ(expected_matches(encoded(none), encoded(one)), 0);
  EXPECT_EQ(expected_matches(encoded(one), encoded(one)), 1);
  EXPECT_GT(expected_matches(encoded(one), encoded(two)), 0);
}

}  // namespace
}  // namespace garuda::keys
