// A float as a sign and an integer magnitude at a bit position: the form in which floats are summed exactly. CUDA's
// kernels call it, too; shaders/shared/float_parts.glsl is the same for GLSL, which has no 64-bit integers here.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace garuda {

/// Flags of floats that are no finite numbers; those of many values are joined by "or".
inline constexpr std::uint8_t kNotANumber = 1;
inline constexpr std::uint8_t kPositiveInfinity = 2;
inline constexpr std::uint8_t kNegativeInfinity = 4;

/// value = ± magnitude · 2^(position + unit_exponent); special values have the magnitude 0.
struct FloatParts {
  std::uint64_t magnitude = 0;  ///< at most 53 bits
  std::uint32_t position = 0;   ///< max(exponent field, 1) - 1
  bool negative = false;
  std::uint8_t special = 0;  ///< one of the flags above; 0: finite
};

/// Exponent of the least subnormal: what position 0 stands for.
template <class Float>
inline constexpr std::int32_t kUnitExponent = sizeof(Float) == 4 ? -149 : -1074;

/// Inlined: loops over rows take little else.
template <class Float>
[[gnu::always_inline]] constexpr FloatParts split_float(Float value) noexcept {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  constexpr std::uint32_t kMantissaBits = sizeof(Float) == 4 ? 23 : 52;
  constexpr Bits kMaxExponent = sizeof(Float) == 4 ? 0xFF : 0x7FF;
  auto const bits = std::bit_cast<Bits>(value);
  auto const fraction = static_cast<std::uint64_t>(bits & ((Bits{1} << kMantissaBits) - 1));
  auto const exponent = static_cast<std::uint32_t>((bits >> kMantissaBits) & kMaxExponent);
  FloatParts parts;
  parts.negative = (bits >> (8 * sizeof(Float) - 1)) != 0;
  if (exponent == kMaxExponent) {
    parts.special = fraction != 0 ? kNotANumber : parts.negative ? kNegativeInfinity : kPositiveInfinity;
    return parts;
  }
  parts.magnitude = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << kMantissaBits);
  parts.position = exponent == 0 ? 0 : exponent - 1;
  return parts;
}

}  // namespace garuda
