// A float as a sign and an integer magnitude at a bit position: operators/float_parts.hpp on the device.
#pragma once

#include <cstdint>

#include "cuda_backend/plugin.h"

namespace garuda::cuda {

/// value = ± magnitude · 2^(position + the exponent of the least subnormal); special values have the magnitude 0.
struct FloatParts {
  std::uint64_t magnitude = 0;
  std::uint32_t position = 0;
  bool negative = false;
  std::uint32_t special = 0;  ///< flag of FloatSums, 0: finite
};

template <GarudaCudaValueKind kKind>
__device__ inline FloatParts float_parts(std::uint32_t const* value) {
  constexpr bool kWide = kKind == GARUDA_CUDA_FLOAT64;
  constexpr int kMantissaBits = kWide ? 52 : 23;
  constexpr std::uint32_t kTopExponent = kWide ? 2047 : 255;
  auto const bits = kWide ? std::uint64_t{value[kWide ? 1 : 0]} << 32 | value[0] : value[0];
  FloatParts parts;
  parts.negative = bits >> (kWide ? 63 : 31) != 0;
  auto const exponent = static_cast<std::uint32_t>(bits >> kMantissaBits) & kTopExponent;
  auto const mantissa = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
  if (exponent == kTopExponent) {
    parts.special = mantissa != 0 ? 1 : parts.negative ? 4 : 2;
    return parts;
  }
  parts.magnitude = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << kMantissaBits;
  parts.position = exponent == 0 ? 0 : exponent - 1;
  return parts;
}

}  // namespace garuda::cuda
