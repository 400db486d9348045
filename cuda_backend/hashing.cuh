// One-to-one mixing of keys, and what kernels share.
#pragma once

#include <cstdint>

namespace garuda::cuda_backend {

/// The finalisers of MurmurHash3 (A. Appleby, public domain): every key has its own image, so mixed keys are compared
/// instead of keys.
__host__ __device__ inline std::uint32_t mix(std::uint32_t key) {
  key ^= key >> 16;
  key *= 0x85eb'ca6bU;
  key ^= key >> 13;
  key *= 0xc2b2'ae35U;
  return key ^ (key >> 16);
}

__host__ __device__ inline std::uint64_t mix(std::uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51'afd7'ed55'8ccdULL;
  key ^= key >> 33;
  key *= 0xc4ce'b9fe'1a85'ec53ULL;
  return key ^ (key >> 33);
}

/// Their inverses.
__host__ __device__ inline std::uint32_t unmix(std::uint32_t key) {
  key ^= key >> 16;
  key *= 0x7ed1'b41dU;
  key ^= (key >> 13) ^ (key >> 26);
  key *= 0xa5cb'9243U;
  return key ^ (key >> 16);
}

__host__ __device__ inline std::uint64_t unmix(std::uint64_t key) {
  key ^= key >> 33;
  key *= 0x9cb4'b2f8'1293'37dbULL;
  key ^= key >> 33;
  key *= 0x4f74'430c'22a5'4005ULL;
  return key ^ (key >> 33);
}

/// A row that is no row.
inline constexpr std::uint32_t kNoRow = 0xffff'ffffU;

/// Blocks of `threads` threads for `items` grid-stride items: enough to fill a device, and never more than one each.
__host__ inline unsigned grid_for(std::uint64_t items, unsigned threads, unsigned multiprocessors) {
  constexpr unsigned kBlocksEach = 16;
  auto const needed = (items + threads - 1) / threads;
  auto const most = static_cast<std::uint64_t>(multiprocessors) * kBlocksEach;
  auto const blocks = needed < most ? needed : most;
  return blocks == 0 ? 1 : static_cast<unsigned>(blocks);
}

#ifdef __CUDACC__

__device__ inline std::uint64_t global_thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::uint64_t grid_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

/// First position in [low, high) of ascending `values` whose value is not below `value`; `high` when there is none.
template <class T, class Position>
__device__ Position lower_bound(T const* values, Position low, Position high, T value) {
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// First position whose value is above `value`.
template <class T, class Position>
__device__ Position upper_bound(T const* values, Position low, Position high, T value) {
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    if (value < values[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

#endif

}  // namespace garuda::cuda_backend
