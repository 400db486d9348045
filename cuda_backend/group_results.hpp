// From the states of groups to the columns of a result, on the device. Launch functions return what CUDA says.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/float_parts.hpp"
#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

/// keys_out[g] = keys[heads[g]]. heads null: a group of all rows, key of row 0.
template <class Key>
cudaError_t gather_keys(Launch const& launch, Key const* keys, std::uint32_t const* heads, std::uint32_t groups,
                        Key* keys_out);

/// Sums of 2 words a group as 64 bits, signed or not as `kind` is; a sum beyond them sets `overflow`, 0 before.
cudaError_t finish_sums(Launch const& launch, std::uint64_t const* sums, GarudaCudaValueKind kind, std::uint32_t groups,
                        std::uint64_t* out, std::uint32_t* overflow);
/// The exponent of what position 0 of a float of `kind` stands for, its least subnormal.
constexpr int unit_exponent(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_FLOAT64 ? kUnitExponent<double> : kUnitExponent<float>;
}
/// Sums in two's complement, of one word or of two, low word first.
struct SignedSums {
  std::uint64_t const* words = nullptr;
  std::uint32_t words_each = 2;
};
/// Sums times 2^exponent, rounded once to nearest even, as float64; over `counts` where these are given.
cudaError_t finish_rounded(Launch const& launch, SignedSums const& sums, int exponent, std::uint64_t const* counts,
                           std::uint32_t groups, std::uint64_t* out);

/// What float sums come to before they are rounded, as AggregateState has it.
struct FloatWindows {
  std::uint64_t const* windows = nullptr;  ///< null: no group has any
  std::uint64_t const* offsets = nullptr;
  std::uint8_t const* first_windows = nullptr;
  std::uint8_t const* flags = nullptr;
};
/// The sums, rounded once to nearest even, as float64; over `counts` where these are given. operators/exact_sum.hpp on
/// the device.
cudaError_t finish_float_sums(Launch const& launch, FloatWindows const& sums, GarudaCudaValueKind kind,
                              std::uint64_t const* counts, std::uint32_t groups, std::uint64_t* out);

/// Order-preserving words back to values of `kind`: 4 or 8 bytes each.
cudaError_t finish_extremes(Launch const& launch, std::uint64_t const* ordered, GarudaCudaValueKind kind,
                            std::uint32_t groups, void* out);

}  // namespace garuda::cuda_backend
