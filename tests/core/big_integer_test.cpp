// Integers of many words against those of 128 bits and against powers of two.
#include "core/numbers/big_integer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "garuda/error.hpp"

namespace garuda {
namespace {

BigInteger of(Int128 value) {
  std::uint64_t const words[2] = {static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64)};
  return {words, true};
}

TEST(BigIntegers, SumsAndProductsAreThoseOf128Bits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    auto const a = Int128{static_cast<std::int64_t>(random()) >> (random() % 64)};
    auto const b = Int128{static_cast<std::int64_t>(random()) >> (random() % 64)};
    EXPECT_TRUE((of(a) + of(b) - of(a + b)).is_zero());
    EXPECT_TRUE((of(a) - of(b) - of(a - b)).is_zero());
    EXPECT_TRUE((of(a) * of(b) - of(a * b)).is_zero());
    EXPECT_EQ(of(a * b).round(0), static_cast<double>(a * b));
    EXPECT_EQ(of(a).is_negative(), a < 0);
  }
}

TEST(BigIntegers, QuotientsAndRests) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 2000; ++i) {
    auto const value = Int128{static_cast<std::int64_t>(random())} * static_cast<std::int64_t>(random());
    auto const divisor = random() >> (random() % 63) | 1;
    auto quotient = of(value);
    auto const magnitude = value < 0 ? -value : value;
    EXPECT_EQ(quotient.divide(divisor), magnitude % divisor != 0);
    EXPECT_TRUE((quotient - of(value / static_cast<Int128>(divisor))).is_zero());
  }
}

TEST(BigIntegers, ShiftsRoundAndEndWhereTheirRoomEnds) {
  auto const one = BigInteger(1);
  for (std::uint32_t const bits : {0U, 1U, 63U, 64U, 65U, 200U, 4200U}) {
    EXPECT_EQ((one << bits).bit_width(), bits + 1);
    EXPECT_EQ((one << bits).round(-static_cast<std::int32_t>(bits)), 1.0);
    // Half of the last place goes to the even neighbour, and up with anything below it.
    auto const half = (one << (bits + 53)) + (one << bits);
    EXPECT_EQ(half.round(-static_cast<std::int32_t>(bits)), 0x1p53);
    EXPECT_EQ((half << 128).round(-static_cast<std::int32_t>(bits) - 128, true), 0x1p53 + 2);
    if (bits > 0) {
      EXPECT_EQ((half + one).round(-static_cast<std::int32_t>(bits)), 0x1p53 + 2);
    }
    EXPECT_EQ((BigInteger() - (one << bits)).round(2000), -HUGE_VAL);
  }
  EXPECT_EQ(BigInteger(3).round(-1075), 0x1p-1073);
  EXPECT_FALSE(std::signbit((one - one).round(0)));
  EXPECT_THROW(static_cast<void>(one << 64 * BigInteger::kMostWords), LogicError);
}

}  // namespace
}  // namespace garuda
