// What the kernels of group-bys share: atomics on accumulators, values and their kinds, copies in shared memory.
#pragma once

#include "cuda_backend/group_by/group_states.hpp"
#include "cuda_backend/group_by/value_kinds.hpp"
#include "cuda_backend/hashing.cuh"
#include "cuda_backend/launch.cuh"

namespace garuda::cuda_backend {

constexpr unsigned kThreads = 256;
/// Words of accumulators that a block keeps in shared memory: what every device grants without opting in.
constexpr std::uint32_t kSharedWords = 6 * 1024;
constexpr std::uint32_t kMostCopies = 32;
constexpr unsigned kSharedBlocksEach = 4;  // blocks a multiprocessor, each of which adds its copy to the others' once

/// How a launch keeps accumulators of `words` words of all groups together: in device memory alone (copies 0), or in
/// the shared memory of its blocks, so many times.
struct SharedCopies {
  std::uint32_t copies = 0;
  Grid grid;
};
inline SharedCopies shared_copies(Lane const& lane, std::uint64_t words, std::uint32_t rows) {
  SharedCopies shared;
  if (words > kSharedWords || words * kThreads > rows * std::uint64_t{2} + kThreads) return shared;
  auto const fitting = kSharedWords / static_cast<std::uint32_t>(words);
  auto const needed = (rows + kThreads - 1) / kThreads;
  auto const most = lane.device().traits().multiprocessors * kSharedBlocksEach;
  shared.copies = fitting < kMostCopies ? fitting : kMostCopies;
  shared.grid = {needed < most ? needed : most, kThreads, words * shared.copies * sizeof(std::uint64_t)};
  return shared;
}

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

__device__ inline bool is_valid(GroupedValues const& values, std::uint32_t row) {
  return values.validity == nullptr || (values.validity[row / 32] >> (row % 32) & 1U) != 0;
}
__device__ inline std::uint32_t group_of(GroupedValues const& values, std::uint32_t row) {
  return values.ids == nullptr ? 0 : values.ids[row];
}

__device__ inline void write_wide(std::uint64_t* words, __int128 value) {
  words[0] = static_cast<std::uint64_t>(value);
  words[1] = static_cast<std::uint64_t>(value >> 64);
}

}  // namespace garuda::cuda_backend
