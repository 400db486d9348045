#include "operators/group_by/numbers/number_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "operators/group_by/numbers/exact_numbers.hpp"
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

/// Floats of all exponents, subnormal ones, zeros, and such as are no numbers.
std::vector<double> floats(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<double> values(count);
  for (auto& value : values) {
    value = std::bit_cast<double>(random());
    if (random() % 3 == 0) value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 64) - 72);
    if (random() % 20 == 0)
      value = std::bit_cast<double>(random() & ((std::uint64_t{1} << 63 | std::uint64_t{1} << 52) - 1));
    if (random() % 20 == 0) value = std::signbit(value) ? -0.0 : 0.0;
    if (random() % 20 == 0) value = std::numeric_limits<double>::infinity();
  }
  return values;
}

TEST(NumberKernels, PartsOfFloatsAreThoseOfTheirExactProducts) {
  DataType const type{TypeId::float64};
  for (auto const* const kernels : all_kernels())
    for (std::size_t const count : {0, 1, 7, 8, 257})
      for (bool const squared : {false, true})
        for (auto const first : {-2'200, -1'075, -200, -144, -104, -64, -41, -1, 0, 1, 63, 900})
          for (auto const bits : {1U, 63U, 64U, 65U, 103U, 126U}) {
            auto const values = floats(count);
            std::vector<ExactNumber> numbers(count);
            read_numbers(type, reinterpret_cast<std::byte const*>(values.data()), numbers);
            std::vector<Int128> expected(count);
            std::vector<ExactNumber> const ones(count, ExactNumber{1});
            write_products(numbers, squared ? numbers.data() : ones.data(), first, bits, contract::ValueKind::int128,
                           reinterpret_cast<std::byte*>(expected.data()));
            std::vector<Int128> found(count);
            kernels->float_parts(values.data(), count, squared, first, bits, found.data());
            for (std::size_t i = 0; i < count; ++i)
              ASSERT_TRUE(found[i] == expected[i]) << values[i] << ", from " << first << " on, bits: " << bits;
          }
}

}  // namespace
}  // namespace garuda::group_by
