// Floats of 16 bits, which no compiler garuda builds with has everywhere, as their bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/numbers/ordered_value.hpp"

namespace garuda {

/// The value, which every float holds.
inline float half_value(std::uint16_t bits) noexcept {
  constexpr std::uint32_t kExponents = 0x1F;
  constexpr std::uint32_t kBiasDifference = 127 - 15;
  auto const sign = static_cast<std::uint32_t>(bits >> 15) << 31;
  auto const exponent = static_cast<std::uint32_t>(bits >> 10) & kExponents;
  auto const fraction = static_cast<std::uint32_t>(bits) & 0x3FF;
  if (exponent == 0) {
    auto const magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  auto const wide = exponent == kExponents ? 0xFFU : exponent + kBiasDifference;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// The bits of the float16 nearest to `value`, of two the even one; of NaN the canonical ones. Requires: less than
/// 65520 away from 0, infinite or NaN.
inline std::uint16_t half_bits(double value) noexcept {
  constexpr int kLeastExponent = -14;
  constexpr int kFractionBits = 10;
  if (std::isnan(value)) return kCanonicalNan16;
  auto const sign = std::signbit(value) ? 0x8000U : 0U;
  if (std::isinf(value)) return static_cast<std::uint16_t>(0x7C00U | sign);
  auto const magnitude = std::fabs(value);
  auto const exponent = magnitude == 0 ? kLeastExponent : std::max(std::ilogb(magnitude), kLeastExponent);
  auto const fraction = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, kFractionBits - exponent)));
  // A fraction of 2^11 carries into the exponent; without the bit 2^10 it is a denormal one.
  return static_cast<std::uint16_t>(((static_cast<unsigned>(exponent - kLeastExponent) << kFractionBits) + fraction) |
                                    sign);
}

/// The float16 nearest to `value`, which is infinite from 65520 on.
inline float nearest_half(double value) noexcept {
  constexpr double kBeyondHalf = 65'520;
  if (std::fabs(value) >= kBeyondHalf && !std::isinf(value)) value = value < 0 ? -INFINITY : INFINITY;
  return half_value(half_bits(value));
}

}  // namespace garuda
