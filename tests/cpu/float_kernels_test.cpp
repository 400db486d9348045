// The loops over floats of every instruction set, against arithmetic of integers.
#include "operators/cpu/group_by/sum_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/instruction_set.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/cpu/group_by/float_range.hpp"

namespace garuda::cpu {
namespace {

/// Values that do not lie at a multiple of their size.
template <class Float>
std::vector<std::byte> unaligned(std::vector<Float> const& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Float) + 1);
  std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(Float));
  return bytes;
}

template <class Float>
Magnitudes magnitudes_of(FloatKernels const& kernels, std::vector<Float> const& values) {
  Magnitudes seen;
  auto const bytes = unaligned(values);
  (sizeof(Float) == 4 ? kernels.magnitudes_32 : kernels.magnitudes_64)(bytes.data() + 1, values.size(), &seen);
  return seen;
}

template <class Float>
void check_magnitudes() {
  using Limits = std::numeric_limits<Float>;
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  auto const bits_of = [](Float value) { return std::uint64_t{std::bit_cast<Bits>(std::abs(value))}; };
  std::mt19937_64 random(1);
  for (auto const set : instruction_sets())
    for (std::size_t const count : {0, 1, 3, 7, 8, 9, 64, 101}) {
      std::vector<Float> values(count, Float{-0.0F});
      EXPECT_EQ(magnitudes_of(float_kernels(set), values).largest, 0U);
      EXPECT_EQ(magnitudes_of(float_kernels(set), values).least_less_one, Magnitudes{}.least_less_one);
      for (auto& value : values)
        value = std::ldexp(static_cast<Float>(random() % 1000), static_cast<int>(random() % 40) - 20);
      for (auto const special :
           {Float{1}, Limits::denorm_min(), -Limits::max(), Limits::infinity(), -Limits::quiet_NaN()}) {
        if (count > 0) values[random() % count] = special;
        auto least = ~std::uint64_t{0} >> 1;
        std::uint64_t largest = 0;
        for (auto const value : values) {
          if (bits_of(value) != 0) least = std::min(least, bits_of(value) - 1);
          largest = std::max(largest, bits_of(value));
        }
        auto const seen = magnitudes_of(float_kernels(set), values);
        EXPECT_EQ(seen.least_less_one, least) << count << " " << special;
        EXPECT_EQ(seen.largest, largest) << count << " " << special;
      }
    }
}

TEST(FloatKernels, MagnitudesOfFloats) { check_magnitudes<float>(); }
TEST(FloatKernels, MagnitudesOfDoubles) { check_magnitudes<double>(); }

/// Multiples of 2^unit below 2^(unit + bits), half of them negative, and zeros.
template <class Float>
void check_split(std::uint32_t most_shift, std::int32_t unit) {
  constexpr auto kMantissa = kMantissaBits<Float>;
  auto const point_unit = -40;
  FixedPoint const point{static_cast<std::uint32_t>(unit - point_unit), most_shift};
  auto const split = float_split(point, kMantissa, point_unit);
  ASSERT_TRUE(split) << most_shift << " " << unit;
  std::mt19937_64 random(most_shift);
  for (std::size_t const count : {1, 2, 5, 8, 17, 100}) {
    std::vector<Float> values;
    std::vector<Int128> expected;
    for (std::size_t i = 0; i < count; ++i) {
      auto mantissa =
          static_cast<std::int64_t>((random() & ((std::uint64_t{1} << kMantissa) - 1)) | std::uint64_t{1} << kMantissa);
      if (i % 7 == 3) mantissa = (std::int64_t{2} << kMantissa) - 1;
      if (i % 5 == 4) mantissa = 0;
      auto const shift = i % 3 == 0 ? most_shift : static_cast<std::uint32_t>(random() % (most_shift + 1));
      auto const sign = random() % 2 == 0 ? 1 : -1;
      values.push_back(std::ldexp(static_cast<Float>(sign * mantissa), static_cast<int>(shift) + unit));
      expected.push_back(Int128{sign * mantissa} * (Int128{1} << shift));
    }
    auto const bytes = unaligned(values);
    for (auto const set : instruction_sets())
      for (auto const rounding : {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
        std::vector<std::uint64_t> low(count);
        std::vector<std::uint64_t> high(count);
        std::fesetround(rounding);
        (sizeof(Float) == 4 ? float_kernels(set).split_32 : float_kernels(set).split_64)(
            bytes.data() + 1, count, *split, low.data(), high.data());
        std::fesetround(FE_TONEAREST);
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_TRUE(static_cast<Int128>(UInt128{high[i]} << 64 | low[i]) == expected[i])
              << values[i] << ", shift " << most_shift << ", rounding " << rounding;
      }
  }
}

TEST(FloatKernels, SplitFloatsAreTheirIntegers) {
  for (std::uint32_t shift = 0; shift <= 78; ++shift) check_split<float>(shift, -30);
  for (std::uint32_t shift = 0; shift <= 49; ++shift)
    // The last one: as high as the upper part's carrier may be.
    for (auto const unit : {-39, 100, 970 - static_cast<std::int32_t>((shift + 53) / 2)})
      check_split<double>(shift, unit);
}

TEST(FloatKernels, WhatIsTooWideOrSubnormalIsNotSplit) {
  EXPECT_TRUE(float_split({52, 49}, 52, -1074));
  EXPECT_FALSE(float_split({52, 50}, 52, -1074)) << "103 bits";
  EXPECT_FALSE(float_split({51, 49}, 52, -1074)) << "the lowest bit is a subnormal";
  EXPECT_FALSE(float_split({0, 3}, 52, -1074)) << "subnormals";
  EXPECT_TRUE(float_split({2'018, 0}, 52, -1074));
  EXPECT_FALSE(float_split({2'019, 0}, 52, -1074)) << "a sum with the upper part's carrier may be infinite";
}

}  // namespace
}  // namespace garuda::cpu
