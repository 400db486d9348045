// The kernels of group-bys share atomics on states, and values and their kinds.
#pragma once

#include <cstdint>

#include "cuda_backend/group_by/value_kinds.hpp"
#include "cuda_backend/hashing.cuh"
#include "cuda_backend/launch.cuh"

namespace garuda::cuda_backend {

__device__ inline std::uint32_t read_word(std::uint32_t const* word) {
  return *static_cast<std::uint32_t const volatile*>(word);
}

using Word = unsigned long long;

__device__ inline void add(std::uint64_t* target, std::uint64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<Word*>(target), static_cast<Word>(value));
}
__device__ inline void keep_least(std::uint64_t* target, std::uint64_t value) {
  if (value < *static_cast<std::uint64_t volatile*>(target))
    atomicMin(reinterpret_cast<Word*>(target), static_cast<Word>(value));
}
__device__ inline void keep_greatest(std::uint64_t* target, std::uint64_t value) {
  if (value > *static_cast<std::uint64_t volatile*>(target))
    atomicMax(reinterpret_cast<Word*>(target), static_cast<Word>(value));
}

}  // namespace garuda::cuda_backend
