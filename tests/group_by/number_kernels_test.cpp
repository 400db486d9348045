#include "operators/group_by/numbers/number_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "partition/instruction_set.hpp"

namespace garuda::group_by {
namespace {

/// Those that this machine can run.
std::vector<NumberKernels const*> all_kernels() {
  std::vector<NumberKernels const*> kernels{&number_kernels_baseline()};
#ifdef GARUDA_X86_KERNELS
  for (auto const set : partition::instruction_sets()) {
    if (set == partition::InstructionSet::avx2) kernels.push_back(&number_kernels_avx2());
    if (set == partition::InstructionSet::avx512) kernels.push_back(&number_kernels_avx512());
  }
#endif
  return kernels;
}

/// Some of them the least and the greatest there are, from an address that no vector is aligned to.
template <class Integer>
std::vector<Integer> integers(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<Integer> values(count + 1);
  for (auto& value : values) {
    value = static_cast<Integer>(random());
    if (random() % 100 == 0) value = std::numeric_limits<Integer>::min();
    if (random() % 100 == 0) value = std::numeric_limits<Integer>::max();
  }
  return values;
}

TEST(NumberKernels, ExtremesHoldAllValuesAndWhatWasThere) {
  for (auto const* const kernels : all_kernels())
    for (std::size_t const count : {0, 1, 7, 16, 63, 1'000}) {
      auto const narrow = integers<std::int32_t>(count);
      auto const wide = integers<std::int64_t>(count);
      auto const check = [&](auto const& values, auto const& extremes) {
        auto expected = values;
        expected.front() = 5;  // what was there
        auto least = expected.front();
        auto greatest = expected.front();
        extremes(values.data() + 1, count, &least, &greatest);
        EXPECT_EQ(least, *std::ranges::min_element(expected));
        EXPECT_EQ(greatest, *std::ranges::max_element(expected));
      };
      check(narrow, kernels->extremes_32);
      check(wide, kernels->extremes_64);
    }
}

TEST(NumberKernels, ProductsAreAddedModulo64Bits) {
  for (auto const* const kernels : all_kernels())
    for (std::size_t const count : {0, 1, 5, 8, 31, 256})
      for (auto const shift : {0U, 1U, 33U, 63U}) {
        auto const one = integers<std::uint32_t>(count);
        auto const other = integers<std::uint32_t>(count + 1);
        for (bool const is_alone : {true, false}) {
          auto words = integers<std::uint64_t>(count);
          auto expected = words;
          for (std::size_t i = 0; i < count; ++i)
            expected[i] += (is_alone ? std::uint64_t{one[i]} : std::uint64_t{one[i]} * other[i]) << shift;
          kernels->add_products(one.data(), is_alone ? nullptr : other.data(), count, shift, words.data());
          EXPECT_EQ(words, expected);
        }
      }
}

}  // namespace
}  // namespace garuda::group_by
