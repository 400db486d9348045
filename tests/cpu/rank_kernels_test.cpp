// Look-ups of keys by rank of every instruction set, against a sorted list of the keys.
#include "operators/cpu/join/rank_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/instruction_set.hpp"

namespace garuda::cpu {
namespace {

/// Looks up values of [0, last], some of them keys, and keys outside that range.
template <class Key>
void check_ranks(RankKernels const& kernels, std::uint64_t last, std::uint64_t shift, std::uint64_t one_of) {
  std::mt19937_64 random(last + shift);
  RankedKeys ranked{(Key{5} << shift) + (shift > 0 ? 1U : 0U), shift, last, nullptr};
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 0; value <= last; ++value)
    if (random() % one_of == 0 || value == last) values.push_back(value);
  std::vector<std::uint64_t> words((last + 1) / RankedKeys::kRankBits + 1);
  for (auto const value : values) words[value / RankedKeys::kRankBits] |= std::uint64_t{1} << value % 32;
  EXPECT_EQ(kernels.add_ranks(words.data(), words.size(), 0), values.size());
  ranked.words = words.data();
  std::vector<std::uint32_t> rows(values.size() + 1);
  for (auto& row : rows) row = static_cast<std::uint32_t>(random());
  rows.back() = 77;  // read, not used

  std::vector<Key> keys;
  for (int i = 0; i < 1'000; ++i) keys.push_back(static_cast<Key>(ranked.min + (random() % (last + 1) << shift)));
  for (std::uint64_t const value : {std::uint64_t{0}, last, last + 1, last + 40, ~std::uint64_t{0} >> shift})
    keys.push_back(static_cast<Key>(ranked.min + (value << shift)));
  keys.push_back(static_cast<Key>(ranked.min - (std::uint64_t{1} << shift)));
  std::vector<std::byte> unaligned(keys.size() * sizeof(Key) + 1);
  std::memcpy(unaligned.data() + 1, keys.data(), keys.size() * sizeof(Key));
  std::vector<std::uint32_t> found_rows(keys.size());
  std::vector<std::uint32_t> found_ranks(keys.size());
  constexpr bool kNarrow = sizeof(Key) == 4;
  (kNarrow ? kernels.find_rows_32 : kernels.find_rows_64)(ranked, rows.data(), unaligned.data() + 1, keys.size(),
                                                          found_rows.data());
  (kNarrow ? kernels.find_ranks_32 : kernels.find_ranks_64)(ranked, unaligned.data() + 1, keys.size(),
                                                            found_ranks.data());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t const value = static_cast<Key>(keys[i] - static_cast<Key>(ranked.min)) >> shift;
    auto const at = std::ranges::lower_bound(values, value);
    auto const is_key = at != values.end() && *at == value;
    auto const rank = static_cast<std::size_t>(at - values.begin());
    ASSERT_EQ(found_rows[i], is_key ? rows[rank] : 0) << keys[i];
    ASSERT_EQ(found_ranks[i], is_key ? rank + 1 : 0) << keys[i];
  }
}

TEST(RankKernels, EverySetFindsEveryKey) {
  for (auto const set : instruction_sets())
    for (std::uint64_t const last : {0, 1, 30, 31, 32, 62, 63, 64, 5'000})
      for (std::uint64_t const shift : {0, 3})
        for (std::uint64_t const one_of : {1, 3, 100}) {
          SCOPED_TRACE(std::string(to_string(set)) + ", values to " + std::to_string(last));
          check_ranks<std::uint32_t>(rank_kernels(set), last, shift, one_of);
          check_ranks<std::uint64_t>(rank_kernels(set), last, shift, one_of);
        }
}

/// Words behind others go on from what these have.
TEST(RankKernels, RanksAreAddedPieceByPiece) {
  for (auto const set : instruction_sets()) {
    std::uint64_t words[] = {0b101, 0, 0xFFFF'FFFF, 0b1};
    auto const first = rank_kernels(set).add_ranks(words, 2, 7);
    EXPECT_EQ(first, 9);
    EXPECT_EQ(rank_kernels(set).add_ranks(words + 2, 2, first), 42);
    std::uint64_t const expected[] = {std::uint64_t{7} << 32 | 0b101, std::uint64_t{9} << 32,
                                      std::uint64_t{9} << 32 | 0xFFFF'FFFF, std::uint64_t{41} << 32 | 0b1};
    EXPECT_TRUE(std::equal(std::begin(words), std::end(words), expected));
  }
}

}  // namespace
}  // namespace garuda::cpu
