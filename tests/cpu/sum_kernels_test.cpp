// The loops over rows of sums of every instruction set, against one word at a time.
#include "operators/cpu/group_by/sum_kernels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/instruction_set.hpp"

namespace garuda::cpu {
namespace {

constexpr std::size_t kSummedGroups = 7;

/// Adds `count` rows of words of all sizes, so that sums wrap; `counted`: the column that counts rows.
void check_sums(SumKernels const& kernels, std::size_t num_columns, std::size_t count, std::size_t counted) {
  std::mt19937_64 random(count);
  std::vector<std::uint32_t> groups(count);
  for (auto& group : groups) group = static_cast<std::uint32_t>(random() % kSummedGroups);
  std::vector<std::vector<std::uint64_t>> words(num_columns, std::vector<std::uint64_t>(count));
  std::vector<std::vector<std::byte>> unaligned;
  std::array<void const*, kSumRowWords> columns{};
  for (std::size_t c = 0; c < num_columns; ++c) {
    for (auto& word : words[c]) word = c == counted ? 1 : random();
    auto& bytes = unaligned.emplace_back(count * sizeof(std::uint64_t) + 4);
    if (count > 0) std::memcpy(bytes.data() + 4, words[c].data(), count * sizeof(std::uint64_t));
    if (c != counted) columns[c] = bytes.data() + 4;
  }
  std::vector<std::uint64_t> sums(kSumRowWords * kSummedGroups, 5);
  auto expected = sums;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < num_columns; ++c) expected[kSumRowWords * groups[i] + c] += words[c][i];
  (num_columns == 3 ? kernels.add_3 : kernels.add_4)(columns.data(), groups.data(), count, sums.data());
  EXPECT_EQ(sums, expected);
}

TEST(SumKernels, EverySetAddsEveryColumn) {
  for (auto const set : instruction_sets())
    for (std::size_t const num_columns : {3, 4})
      for (std::size_t const count : {0, 1, 3, 4, 5, 255, 256, 257, 511, 2048, 2049})
        for (std::size_t counted = 0; counted <= num_columns; ++counted) {
          SCOPED_TRACE(std::to_string(num_columns) + " columns, " + std::to_string(count) + " rows");
          check_sums(sum_kernels(set), num_columns, count, counted);
        }
}

}  // namespace
}  // namespace garuda::cpu
