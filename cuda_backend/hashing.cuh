// One-to-one mixing of keys.
#pragma once

#include <cstdint>

namespace garuda::cuda_backend {

/// The finalisers of MurmurHash3 (A. Appleby, public domain): every key has its own image, so mixed keys are compared
/// instead of keys.
__device__ inline std::uint32_t mix(std::uint32_t key) {
  key ^= key >> 16;
  key *= 0x85eb'ca6bU;
  key ^= key >> 13;
  key *= 0xc2b2'ae35U;
  return key ^ (key >> 16);
}

__device__ inline std::uint64_t mix(std::uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51'afd7'ed55'8ccdULL;
  key ^= key >> 33;
  key *= 0xc4ce'b9fe'1a85'ec53ULL;
  return key ^ (key >> 33);
}

/// Their inverses.
__device__ inline std::uint32_t unmix(std::uint32_t key) {
  key ^= key >> 16;
  key *= 0x7ed1'b41dU;
  key ^= (key >> 13) ^ (key >> 26);
  key *= 0xa5cb'9243U;
  return key ^ (key >> 16);
}

__device__ inline std::uint64_t unmix(std::uint64_t key) {
  key ^= key >> 33;
  key *= 0x9cb4'b2f8'1293'37dbULL;
  key ^= key >> 33;
  key *= 0x4f74'430c'22a5'4005ULL;
  return key ^ (key >> 33);
}

/// A row that is no row.
inline constexpr std::uint32_t kNoRow = 0xffff'ffffU;

}  // namespace garuda::cuda_backend
