// Decimals of 128 bits: exact sums, products and quotients in 256 bits, rounded once.
#pragma once

#include <cstdint>

#include "core/numbers/wide_integer.hpp"

namespace garuda::expr {

/// A sign and a magnitude of 256 bits.
struct WideDecimal {
  bool is_negative = false;
  bool is_huge = false;  ///< It is beyond 256 bits, and so beyond every decimal.
  UInt128 high = 0;
  UInt128 low = 0;
};

inline UInt128 magnitude_of(Int128 value) noexcept {
  return value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
}

inline WideDecimal widened(Int128 value) noexcept { return {value < 0, false, 0, magnitude_of(value)}; }

/// The product of two words of 128 bits.
inline WideDecimal product(UInt128 a, UInt128 b) noexcept {
  constexpr auto kLow = static_cast<UInt128>(~std::uint64_t{0});
  auto const low = (a & kLow) * (b & kLow);
  auto const middle_a = (a >> 64) * (b & kLow);
  auto const middle_b = (a & kLow) * (b >> 64);
  auto const carry = (low >> 64) + (middle_a & kLow) + (middle_b & kLow);
  WideDecimal result;
  result.low = (low & kLow) | carry << 64;
  result.high = (a >> 64) * (b >> 64) + (middle_a >> 64) + (middle_b >> 64) + (carry >> 64);
  return result;
}

/// Multiplies by 10^exponent, 0 to 76.
inline void scale_up(WideDecimal& value, std::int32_t exponent) noexcept {
  for (; exponent > 0; exponent -= kDecimal128Digits) {
    auto const factor = power_of_ten(exponent < kDecimal128Digits ? exponent : kDecimal128Digits);
    auto const low = product(value.low, factor);
    auto const high = product(value.high, factor);
    value.low = low.low;
    value.high = high.low + low.high;
    value.is_huge = value.is_huge || high.high != 0 || value.high < low.high;
  }
}

/// Divides the magnitude; returns the remainder. Requires: divisor is not 0.
inline UInt128 divide_magnitude(WideDecimal& value, UInt128 divisor) noexcept {
  if (value.high == 0) {
    auto const rest = value.low % divisor;
    value.low /= divisor;
    return rest;
  }
  auto rest = value.high % divisor;
  value.high /= divisor;
  for (int bit = 0; bit < 128; ++bit) {
    bool const carries = rest >> 127 != 0;
    rest = rest << 1 | value.low >> 127;
    value.low <<= 1;
    if (!carries && rest < divisor) continue;
    rest -= divisor;
    value.low |= 1;
  }
  return rest;
}

inline void add_one(WideDecimal& value) noexcept {
  if (++value.low == 0) ++value.high;
}

/// Divides by 10^exponent, 0 to 76, and rounds halves away from zero: the last remainder alone decides, since powers of
/// ten are even.
inline void scale_down(WideDecimal& value, std::int32_t exponent) noexcept {
  if (exponent <= 0) return;
  if (exponent > kDecimal128Digits) divide_magnitude(value, power_of_ten(exponent - kDecimal128Digits));
  auto const last = power_of_ten(exponent < kDecimal128Digits ? exponent : kDecimal128Digits);
  if (divide_magnitude(value, last) >= last / 2) add_one(value);
}

/// Brings a value of one scale to another.
inline void rescale(WideDecimal& value, std::int32_t from, std::int32_t to) noexcept {
  to >= from ? scale_up(value, to - from) : scale_down(value, from - to);
}

/// The sum of two values of one scale.
inline WideDecimal sum(WideDecimal a, WideDecimal const& b) noexcept {
  a.is_huge = a.is_huge || b.is_huge;
  if (a.is_negative == b.is_negative) {
    bool const carries = a.low + b.low < a.low;
    auto const high = a.high + b.high + (carries ? 1 : 0);
    a.is_huge = a.is_huge || high < a.high;
    a.high = high;
    a.low += b.low;
    return a;
  }
  bool const is_less = a.high < b.high || (a.high == b.high && a.low < b.low);
  auto const& larger = is_less ? b : a;
  auto const& smaller = is_less ? a : b;
  WideDecimal result{larger.is_negative, a.is_huge, larger.high - smaller.high, larger.low - smaller.low};
  if (larger.low < smaller.low) --result.high;
  return result;
}

/// The value in 128 bits; false: it does not fit, and `to` has its lowest bits.
inline bool narrowed(WideDecimal const& value, Int128& to) noexcept {
  to = static_cast<Int128>(value.is_negative ? UInt128{0} - value.low : value.low);
  return !value.is_huge && value.high == 0 && value.low >> 127 == 0;
}

/// Whether a decimal of so many digits can be the value.
inline bool has_digits(Int128 value, UInt128 power_of_precision) noexcept {
  return magnitude_of(value) < power_of_precision;
}

}  // namespace garuda::expr
