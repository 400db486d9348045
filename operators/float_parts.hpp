// A float as a sign and an integer magnitude at a bit position: the form in which floats are summed exactly.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace garuda::operators {

/// value = ± magnitude · 2^(position + unit_exponent); special values have the magnitude 0.
struct FloatParts {
  std::uint64_t magnitude = 0;  ///< at most 53 bits
  std::uint32_t position = 0;   ///< max(exponent field, 1) - 1
  bool negative = false;
  bool is_nan = false;
  bool is_infinite = false;
};

template <class Float>
constexpr FloatParts split_float(Float value) noexcept {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  constexpr std::uint32_t kMantissaBits = sizeof(Float) == 4 ? 23 : 52;
  constexpr Bits kMaxExponent = sizeof(Float) == 4 ? 0xFF : 0x7FF;
  auto const bits = std::bit_cast<Bits>(value);
  auto const fraction = static_cast<std::uint64_t>(bits & ((Bits{1} << kMantissaBits) - 1));
  auto const exponent = static_cast<std::uint32_t>((bits >> kMantissaBits) & kMaxExponent);
  FloatParts parts;
  parts.negative = (bits >> (8 * sizeof(Float) - 1)) != 0;
  if (exponent == kMaxExponent) {
    parts.is_nan = fraction != 0;
    parts.is_infinite = fraction == 0;
    return parts;
  }
  parts.magnitude = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << kMantissaBits);
  parts.position = exponent == 0 ? 0 : exponent - 1;
  return parts;
}

}  // namespace garuda::operators
