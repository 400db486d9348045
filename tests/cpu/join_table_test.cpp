// Tables of a join that several threads build, against those that one thread builds.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "operators/cpu/join/join_table.hpp"

namespace garuda::cpu {
namespace {

constexpr std::size_t kRows = std::size_t{1} << 20;

/// The rows of a key, or its row where keys are unique.
template <class Word>
std::vector<std::uint32_t> rows_of(JoinTable<Word> const& table, std::uint32_t found) {
  if (found == 0) return {};
  if (table.is_unique()) return {found - 1};
  auto const run = table.run(found);
  return {run.begin(), run.end()};
}

/// Builds a table of `keys`, which lie in [0, max], with four threads and with one, and looks all of `probes` up.
template <class Word>
void expect_same(std::vector<Word> const& keys, Word max, std::vector<Word> const& probes,
                 typename JoinTable<Word>::Form form) {
  JoinTable<Word> shared;
  JoinTable<Word> own;
  oneapi::tbb::task_arena several(4);
  oneapi::tbb::task_arena one(1);
  ASSERT_TRUE(several.execute([&] { return shared.build(keys, Word{0}, max, 0); }));
  ASSERT_TRUE(one.execute([&] { return own.build(keys, Word{0}, max, 0); }));
  EXPECT_EQ(shared.form(), form);
  ASSERT_EQ(shared.is_unique(), own.is_unique());
  std::vector<std::uint32_t> found(JoinTable<Word>::kBlock);
  std::vector<std::uint32_t> expected(JoinTable<Word>::kBlock);
  for (std::size_t first = 0; first < probes.size(); first += JoinTable<Word>::kBlock) {
    auto const count = std::min(JoinTable<Word>::kBlock, probes.size() - first);
    shared.find(probes.data() + first, count, found.data());
    own.find(probes.data() + first, count, expected.data());
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(rows_of(shared, found[i]), rows_of(own, expected[i])) << probes[first + i];
  }
}

/// Keys below `end`: each once, in any order, or drawn, so that some come several times.
template <class Word>
std::vector<Word> draw(std::size_t rows, Word end, bool is_unique, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Word> keys(rows);
  auto const step = end / static_cast<Word>(rows);
  for (std::size_t i = 0; i < rows; ++i)
    keys[i] = is_unique ? static_cast<Word>(i) * step : static_cast<Word>(random() % end);
  std::ranges::shuffle(keys, random);
  return keys;
}

TEST(JoinTables, DirectOnesAreTheSameWhoeverBuildsThem) {
  for (bool const is_unique : {true, false}) {
    auto const keys = draw<std::uint32_t>(kRows, 2 * kRows, is_unique, 1);
    auto const probes = draw<std::uint32_t>(kRows, 3 * kRows, false, 2);
    expect_same<std::uint32_t>(keys, 2 * kRows, probes, JoinTable<std::uint32_t>::Form::direct);
  }
}

TEST(JoinTables, HashedOnesAreTheSameWhoeverBuildsThem) {
  constexpr auto kEnd = std::uint64_t{1} << 50;
  for (bool const is_unique : {true, false}) {
    auto keys = draw<std::uint64_t>(kRows, kEnd, is_unique, 3);
    auto probes = keys;
    auto const others = draw<std::uint64_t>(1'000, kEnd, false, 4);
    probes.insert(probes.end(), others.begin(), others.end());
    // One key that has many rows, and many that have a few.
    if (!is_unique)
      for (std::size_t i = 0; i < kRows / 2; ++i) keys[2 * i] = i < kRows / 8 ? keys[0] : keys[2 * i + 1];
    expect_same<std::uint64_t>(keys, kEnd, probes, JoinTable<std::uint64_t>::Form::hashed);
  }
}

}  // namespace
}  // namespace garuda::cpu
