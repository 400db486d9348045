#include "operators/group_by/numbers/number_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "core/instruction_set.hpp"
#include "operators/group_by/numbers/exact_numbers.hpp"

namespace garuda::group_by {
namespace {

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
  for (auto const set : instruction_sets())
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
      check(narrow, number_kernels(set).extremes_32);
      check(wide, number_kernels(set).extremes_64);
    }
}

TEST(NumberKernels, EverySumOfProductsIsWritten) {
  using T = ProductTerms;
  for (auto const set : instruction_sets())
    for (std::size_t const count : {0, 1, 5, 8, 31, 256})
      for (std::uint32_t present = 0; present < 1U << T::kTerms; ++present) {
        auto const x = integers<std::uint32_t>(count);
        auto const y = integers<std::uint32_t>(count + 1);
        T const terms{present, {present % 64, 33, 63, 0, 17}};
        std::vector<std::uint64_t> expected(count);
        for (std::size_t i = 0; i < count; ++i) {
          std::uint64_t const a = x[i];
          std::uint64_t const b = y[i];
          std::uint64_t const products[] = {a, b, a * a, b * b, a * b};
          for (std::size_t t = 0; t < T::kTerms; ++t)
            if ((present >> t & 1) != 0) expected[i] += products[t] << terms.shifts[t];
        }
        std::vector<std::byte> unaligned(count * sizeof(std::uint64_t) + 1);
        bool const has_x = (present & (1U << T::kX | 1U << T::kXX | 1U << T::kXY)) != 0;
        bool const has_y = (present & (1U << T::kY | 1U << T::kYY | 1U << T::kXY)) != 0;
        number_kernels(set).write_products(has_x ? x.data() : nullptr, has_y ? y.data() : nullptr, count, terms,
                                           unaligned.data() + 1);
        std::vector<std::uint64_t> words(count);
        if (count > 0) std::memcpy(words.data(), unaligned.data() + 1, count * sizeof(std::uint64_t));
        EXPECT_EQ(words, expected) << present;
      }
}

/// Floats of all exponents, subnormal ones, zeros, infinities, and such as are no numbers.
template <class Float>
std::vector<Float> floats(std::size_t count) {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<Float>;
  constexpr std::array kOthers{Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),  -Limits::quiet_NaN(),
                               Float{0},           -Float{0},           Limits::denorm_min(), -Limits::min() / 2,
                               Limits::max(),      Limits::lowest()};
  std::mt19937_64 random(count);
  std::vector<Float> values(count);
  for (auto& value : values) {
    value = std::bit_cast<Float>(static_cast<Bits>(random()));
    auto const kind = random() % 4;
    if (kind == 0) value = std::ldexp(static_cast<Float>(random()), static_cast<int>(random() % 64) - 72);
    if (kind == 1) value = kOthers[random() % kOthers.size()];
  }
  return values;
}

template <class Float>
void expect_parts(TypeId type, NumberKernels::FloatParts NumberKernels::*kernel) {
  for (std::size_t const count : {0, 1, 7, 8, 257})
    for (bool const squared : {false, true})
      for (auto const first : {-2'200, -1'075, -300, -200, -149, -104, -64, -41, -1, 0, 1, 63, 900})
        for (auto const bits : {1U, 31U, 63U, 64U, 65U, 103U, 126U}) {
          SCOPED_TRACE(::testing::Message() << count << " of them, from " << first << " on, bits: " << bits);
          auto const values = floats<Float>(count);
          auto const* const bytes = reinterpret_cast<std::byte const*>(values.data());
          std::vector<ExactNumber> numbers(count);
          read_numbers({type}, bytes, numbers);
          auto const* const factors = squared ? numbers.data() : nullptr;
          std::vector<Int128> expected(count);
          write_products(numbers, factors, first, bits, contract::ValueKind::int128,
                         reinterpret_cast<std::byte*>(expected.data()));
          for (auto const set : instruction_sets()) {
            std::vector<Int128> found(count);
            (number_kernels(set).*kernel)(values.data(), count, squared, first, bits, found.data());
            ASSERT_TRUE(found == expected);
          }
          std::vector<std::int64_t> narrow(count);
          write_powers({type}, bytes, count, squared, first, bits, contract::ValueKind::int64,
                       reinterpret_cast<std::byte*>(narrow.data()));
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(narrow[i], static_cast<std::int64_t>(expected[i]));
        }
}

TEST(NumberKernels, PartsOfFloatsAreThoseOfTheirExactProducts) {
  expect_parts<double>(TypeId::float64, &NumberKernels::float_parts_64);
  expect_parts<float>(TypeId::float32, &NumberKernels::float_parts_32);
}

TEST(NumberKernels, PowersOfHalvesAreTheirExactProducts) {
  std::vector<std::uint16_t> halves(1 << 16);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  auto const* const bytes = reinterpret_cast<std::byte const*>(halves.data());
  std::vector<ExactNumber> numbers(halves.size());
  read_numbers({TypeId::float16}, bytes, numbers);
  for (bool const squared : {false, true}) {
    std::vector<Int128> expected(halves.size());
    std::vector<Int128> found(halves.size());
    write_products(numbers, squared ? numbers.data() : nullptr, -50, 100, contract::ValueKind::int128,
                   reinterpret_cast<std::byte*>(expected.data()));
    write_powers({TypeId::float16}, bytes, halves.size(), squared, -50, 100, contract::ValueKind::int128,
                 reinterpret_cast<std::byte*>(found.data()));
    EXPECT_TRUE(found == expected);
  }
}

}  // namespace
}  // namespace garuda::group_by
