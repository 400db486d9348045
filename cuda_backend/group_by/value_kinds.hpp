// Kinds of values that are computed with, on the host and in kernels; those of 128 bits go as two of 64.
#pragma once

#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

constexpr bool is_float(GarudaCudaValueKind kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }
constexpr bool is_signed(GarudaCudaValueKind kind) { return kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_INT64; }
/// Values of 8 bytes.
constexpr bool is_wide(GarudaCudaValueKind kind) {
  return kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_UINT64 || kind == GARUDA_CUDA_FLOAT64;
}

}  // namespace garuda::cuda_backend
