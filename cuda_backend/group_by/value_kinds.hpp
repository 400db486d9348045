// Kinds of values, on the host and in kernels.
#pragma once

#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

constexpr bool is_float(GarudaCudaValueKind kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }
constexpr bool is_signed(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_INT128;
}
/// Values of 8 bytes.
constexpr bool is_wide(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_UINT64 || kind == GARUDA_CUDA_FLOAT64;
}
/// 32-bit words of a value.
constexpr int words_of(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_NONE ? 0 : kind == GARUDA_CUDA_INT128 ? 4 : is_wide(kind) ? 2 : 1;
}

}  // namespace garuda::cuda_backend
