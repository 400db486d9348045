// Exact sums round once, to nearest even.
#include "operators/resolve/aggregates.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "tests/reference/big_number.hpp"

namespace garuda::resolve {
namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

using Words = std::vector<std::uint64_t>;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

TEST(RoundToDouble, TiesGoToTheEvenMantissa) {
  constexpr std::uint64_t kTwo53 = std::uint64_t{1} << 53;
  EXPECT_EQ(round_to_double(Words{kTwo53 + 1}, 0), 0x1p53);
  EXPECT_EQ(round_to_double(Words{kTwo53 + 3}, 0), 0x1p53 + 4);
  EXPECT_EQ(round_to_double(Words{(kTwo53 + 1) << 1 | 1, 0}, 0), (0x1p53 + 2) * 2);
  EXPECT_EQ(round_to_double(Words{1, kTwo53 + 1}, 0), (0x1p53 + 2) * 0x1p64) << "a bit far below breaks the tie";
  EXPECT_EQ(round_to_double(Words{0, kTwo53 + 1, 0}, 0), 0x1p53 * 0x1p64);
  EXPECT_EQ(round_to_double(Words{kAll}, 0), -1);
  EXPECT_EQ(round_to_double(Words{kAll, 0}, 0), 0x1p64);
  EXPECT_EQ(round_to_double(Words{~kTwo53, kAll}, 0), -0x1p53);
}

TEST(RoundToDouble, EndsOfTheRange) {
  EXPECT_EQ(bits(round_to_double(Words{0, 0}, 0)), bits(+0.0));
  EXPECT_EQ(bits(round_to_double(Words{}, 0)), bits(+0.0));
  EXPECT_EQ(round_to_double(Words{1}, -1074), 5e-324);
  EXPECT_EQ(round_to_double(Words{3}, -1075), 1e-323) << "a subnormal keeps fewer bits";
  EXPECT_EQ(bits(round_to_double(Words{1}, -1075)), bits(0.0)) << "half the least subnormal is a tie with zero";
  EXPECT_EQ(round_to_double(Words{1}, 1023), 0x1p1023);
  EXPECT_EQ(round_to_double(Words{1}, 1024), HUGE_VAL);
  // 2^1024 less half of the last place rounds up, less a little more it does not.
  EXPECT_EQ(round_to_double(Words{(std::uint64_t{1} << 54) - 1}, 970), HUGE_VAL);
  EXPECT_EQ(round_to_double(Words{((std::uint64_t{1} << 54) - 1) * 2 - 1, 0}, 969), DBL_MAX);
}

TEST(RoundToDouble, EqualsTheConversionOfInts) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    auto const value =
        static_cast<Int128>((UInt128{random()} << 64 | random()) >> (random() % 128)) * (random() % 2 == 0 ? 1 : -1);
    Words const words{static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64)};
    ASSERT_EQ(bits(round_to_double(words, 0)), bits(static_cast<double>(value) + 0.0));
    auto const exponent = static_cast<std::int32_t>(random() % 2400) - 1300;
    ASSERT_EQ(bits(round_to_double(value, exponent)), bits(round_to_double(words, exponent))) << exponent;
  }
}

/// Sums of one group from windows, as a kernel would make them.
contract::FloatSums sums_of(std::vector<double> const& values) {
  std::vector<Int128> windows(contract::max_windows(contract::ValueKind::float64));
  contract::FloatSums sums;
  sums.flags = {0};
  for (auto const value : values) {
    auto const parts = split_float(value);
    sums.flags[0] |= parts.special;
    auto const shifted = UInt128{parts.magnitude} << (parts.position % 64);
    auto const sign = parts.negative ? -1 : 1;
    windows[parts.position / 64] += sign * static_cast<Int128>(static_cast<std::uint64_t>(shifted));
    if (shifted >> 64 != 0) windows[parts.position / 64 + 1] += sign * static_cast<Int128>(shifted >> 64);
  }
  sums.first_window = {0};
  sums.offsets = {0, windows.size()};
  for (auto const window : windows) {
    sums.windows.push_back(static_cast<std::uint64_t>(window));
    sums.windows.push_back(static_cast<std::uint64_t>(window >> 64));
  }
  return sums;
}

TEST(RoundFloatSum, EqualsTheSumOfBigIntegers) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values;
    reference::BigSum exact(-1074);
    for (auto n = 1 + random() % 20; n > 0; --n) {
      auto value = std::bit_cast<double>(random());
      if (!std::isfinite(value)) continue;
      if (random() % 3 == 0 && !values.empty()) value = -values.back() * (1 + 0x1p-52);
      if (!std::isfinite(value)) continue;
      values.push_back(value);
      exact.add(value);
    }
    ASSERT_EQ(bits(round_float_sum(sums_of(values), 0, contract::ValueKind::float64)), bits(exact.round()));
  }
}

TEST(RoundFloatSum, SpecialValues) {
  auto const nan = std::nan("");
  auto const sum = [](std::vector<double> const& values) {
    return bits(round_float_sum(sums_of(values), 0, contract::ValueKind::float64));
  };
  EXPECT_EQ(sum({1, -nan}), kCanonicalNan64);
  EXPECT_EQ(sum({HUGE_VAL, -HUGE_VAL}), kCanonicalNan64);
  EXPECT_EQ(sum({HUGE_VAL, 1}), bits(HUGE_VAL));
  EXPECT_EQ(sum({-HUGE_VAL, -HUGE_VAL, 5}), bits(-HUGE_VAL));
  EXPECT_EQ(sum({-0.0, -0.0}), bits(+0.0));
  EXPECT_EQ(sum({1e300, -1e300}), bits(+0.0));
  EXPECT_EQ(sum({DBL_MAX, DBL_MAX}), bits(HUGE_VAL));
  EXPECT_EQ(sum({DBL_MAX, DBL_MAX, -DBL_MAX}), bits(DBL_MAX)) << "only the total can overflow";
}

TEST(FloatParts, FloatsOfBothWidths) {
  auto const one = split_float(1.0F);
  EXPECT_EQ(std::ldexp(static_cast<double>(one.magnitude),
                       static_cast<int>(one.position) + contract::unit_exponent(contract::ValueKind::float32)),
            1.0);
  auto const least = split_float(-5e-324);
  EXPECT_TRUE(least.negative);
  EXPECT_EQ(least.magnitude, 1U);
  EXPECT_EQ(least.position, 0U);
  EXPECT_EQ(split_float(DBL_MAX).position, 2045U);
  EXPECT_LT((split_float(FLT_MAX).position + 23) / 64, contract::max_windows(contract::ValueKind::float32));
  EXPECT_LT((split_float(DBL_MAX).position + 52) / 64, contract::max_windows(contract::ValueKind::float64));
}

}  // namespace
}  // namespace garuda::resolve
