#include "operators/plan/join_planner.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace garuda::plan {
namespace {

/// A side whose partitions have the words of `partitions`.
template <class Word>
struct SideOf {
  std::vector<Word> words;
  partition::PartitionedKeys keys;

  explicit SideOf(std::vector<std::vector<Word>> const& partitions) {
    keys.key_bits = 8 * sizeof(Word);
    keys.offsets.push_back(0);
    for (auto const& own : partitions) {
      words.insert(words.end(), own.begin(), own.end());
      keys.offsets.push_back(words.size());
    }
    keys.ranges.resize(partitions.size());
    keys.keys = words.data();
  }
};

template <class Word>
std::vector<Word> distinct(std::size_t rows, Word step) {
  std::vector<Word> words(rows);
  for (std::size_t i = 0; i < rows; ++i) words[i] = static_cast<Word>(i * step);
  return words;
}

template <class Word>
std::vector<Word> drawn(std::vector<Word> const& from, std::size_t rows) {
  std::mt19937_64 random(rows);
  std::vector<Word> words(rows);
  for (auto& word : words) word = from[random() % from.size()];
  return words;
}

template <class Word>
void check_draws(std::size_t rows, std::size_t partitions) {
  SCOPED_TRACE(rows);
  std::vector<std::vector<Word>> once;
  std::vector<std::vector<Word>> again;
  for (std::size_t p = 0; p < partitions; ++p) {
    once.push_back(distinct<Word>(rows, Word{1} << 7));
    again.push_back(drawn(once.back(), rows));
  }
  SideOf<Word> const unique(once);
  SideOf<Word> const repeated(again);
  EXPECT_EQ(less_repeated_side(unique.keys, repeated.keys), Side::left);
  EXPECT_EQ(less_repeated_side(repeated.keys, unique.keys), Side::right);
  EXPECT_EQ(less_repeated_side(unique.keys, unique.keys), std::nullopt);
  EXPECT_EQ(less_repeated_side(repeated.keys, repeated.keys), std::nullopt);
}

TEST(KeyRepeats, TellDrawsFromKeysThatAreThereOnce) {
  for (std::size_t const rows : {200U, 3'000U, 16'384U, 60'000U}) {
    check_draws<std::uint32_t>(rows, 5);
    check_draws<std::uint64_t>(rows, 5);
  }
  check_draws<std::uint64_t>(20'000, 1);
}

TEST(KeyRepeats, SayNothingOfTooFewKeys) {
  SideOf<std::uint32_t> const once({{1, 2, 3}, {}, {9}});
  SideOf<std::uint32_t> const same({{1, 1, 1}, {4, 4}, {}});
  EXPECT_EQ(less_repeated_side(once.keys, same.keys), std::nullopt);
  SideOf<std::uint32_t> const none({{}, {}, {}});
  EXPECT_EQ(less_repeated_side(none.keys, none.keys), std::nullopt);
}

/// The first partitions are the same on both sides, the others are not.
TEST(KeyRepeats, LookAtPartitionsFarApart) {
  std::vector<std::vector<std::uint32_t>> const once(85, distinct<std::uint32_t>(2'000, 3));
  auto same = once;
  for (std::size_t p = 5; p < same.size(); ++p) same[p].assign(2'000, 7);
  SideOf<std::uint32_t> const unique(once);
  SideOf<std::uint32_t> const repeated(same);
  EXPECT_EQ(less_repeated_side(unique.keys, repeated.keys), Side::left);
}

}  // namespace
}  // namespace garuda::plan
