// How many digits decimals have, and their powers of ten.
#pragma once

#include <cstdint>

#include "core/numbers/wide_integer.hpp"

namespace garuda {

inline constexpr std::int32_t kDecimal128Digits = 38;
inline constexpr std::int32_t kDecimal256Digits = 76;

/// 10^exponent, at most 10^38.
constexpr UInt128 power_of_ten(std::int32_t exponent) noexcept {
  UInt128 power = 1;
  for (std::int32_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace garuda
