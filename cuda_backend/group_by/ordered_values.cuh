// Values of a kind as the kernels hold them, words of 32 bits: as floats, and as unsigned words of the same order.
#pragma once

#include <bit>
#include <cstdint>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/ordered_value.hpp"
#include "cuda_backend/group_by/value_kinds.hpp"

namespace garuda::cuda_backend {

__device__ inline std::uint64_t wide_word(std::uint32_t const* words) {
  return std::uint64_t{words[1]} << 32 | words[0];
}

/// The value as the float that it is.
template <GarudaCudaValueKind kKind>
__device__ inline auto float_of(std::uint32_t const* value) {
  if constexpr (kKind == GARUDA_CUDA_FLOAT64) {
    return std::bit_cast<double>(wide_word(value));
  } else {
    return std::bit_cast<float>(value[0]);
  }
}

/// Of 128-bit values the high word.
template <GarudaCudaValueKind kKind>
__device__ inline std::uint64_t ordered(std::uint32_t const* value) {
  if constexpr (kKind == GARUDA_CUDA_FLOAT32 || kKind == GARUDA_CUDA_FLOAT64) {
    return ordered_from_bits(canonical_bits(float_of<kKind>(value)));
  } else if constexpr (kKind == GARUDA_CUDA_INT32) {
    return ordered_signed(value[0]);
  } else if constexpr (kKind == GARUDA_CUDA_UINT32) {
    return value[0];
  } else {
    auto const bits = wide_word(value + (kKind == GARUDA_CUDA_INT128 ? 2 : 0));
    return is_signed(kKind) ? ordered_signed(bits) : bits;
  }
}

}  // namespace garuda::cuda_backend
