// Values as unsigned words of the same order: core/ordered_value.hpp on the device.
#pragma once

#include <cstdint>

#include "cuda_backend/plugin.h"

namespace garuda::cuda {

constexpr bool is_signed(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_INT128;
}

/// Of 128-bit values the high word.
template <GarudaCudaValueKind kKind>
__device__ inline std::uint64_t ordered(std::uint32_t const* value) {
  constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;
  if constexpr (kKind == GARUDA_CUDA_INT32) {
    return value[0] ^ 0x8000'0000U;
  } else if constexpr (kKind == GARUDA_CUDA_UINT32) {
    return value[0];
  } else if constexpr (kKind == GARUDA_CUDA_FLOAT32) {
    auto bits = value[0];
    if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) bits = 0x7fc0'0000U;
    if ((bits & 0x7fff'ffffU) == 0) bits = 0;
    return bits >> 31 != 0 ? ~bits : bits | 0x8000'0000U;
  } else if constexpr (kKind == GARUDA_CUDA_FLOAT64) {
    auto bits = std::uint64_t{value[1]} << 32 | value[0];
    if ((bits & ~kSign64) > 0x7ff0'0000'0000'0000ULL) bits = 0x7ff8'0000'0000'0000ULL;
    if ((bits & ~kSign64) == 0) bits = 0;
    return bits >> 63 != 0 ? ~bits : bits | kSign64;
  } else {
    constexpr int kHigh = kKind == GARUDA_CUDA_INT128 ? 2 : 0;
    auto const bits = std::uint64_t{value[kHigh + 1]} << 32 | value[kHigh];
    return is_signed(kKind) ? bits ^ kSign64 : bits;
  }
}

}  // namespace garuda::cuda
