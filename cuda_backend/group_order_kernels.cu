#include "cuda_backend/group_values.cuh"

namespace garuda::cuda_backend {
namespace {

__device__ bool words_differ(GroupKeys const& keys, std::uint32_t a, std::uint32_t b) {
  auto const* const words = static_cast<std::uint32_t const*>(keys.data);
  for (std::uint32_t w = 0; w < keys.num_words; ++w)
    if (words[std::uint64_t{w} * keys.rows + a] != words[std::uint64_t{w} * keys.rows + b]) return true;
  return false;
}

template <class Key>
__device__ bool packed_differ(GroupKeys const& keys, std::uint32_t a, std::uint32_t b) {
  auto const* const packed = static_cast<Key const*>(keys.data);
  return packed[a] != packed[b];
}

__device__ bool keys_differ(GroupKeys const& keys, std::uint32_t a, std::uint32_t b) {
  if (keys.bits == 32) return packed_differ<std::uint32_t>(keys, a, b);
  return keys.bits == 64 ? packed_differ<std::uint64_t>(keys, a, b) : words_differ(keys, a, b);
}

__global__ void number_positions_kernel(std::uint32_t* positions, std::uint32_t rows) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) positions[i] = static_cast<std::uint32_t>(i);
}

__global__ void flag_runs_kernel(GroupKeys keys, std::uint32_t const* order, std::uint32_t* flags) {
  for (auto i = global_thread(); i <= keys.rows; i += grid_threads()) {
    auto const p = static_cast<std::uint32_t>(i);
    if (i == keys.rows) {
      flags[i] = 0;
    } else if (i == 0) {
      flags[i] = 1;
    } else {
      flags[i] = (order == nullptr ? keys_differ(keys, p - 1, p) : keys_differ(keys, order[p - 1], order[p])) ? 1 : 0;
    }
  }
}

__global__ void slots_of_flags_kernel(std::uint32_t const* flags, std::uint32_t const* numbers,
                                      std::uint32_t const* order, std::uint32_t rows, std::uint32_t* slots,
                                      std::uint32_t* heads) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = order[i];
    auto const slot = numbers[i] + flags[i] - 1;
    slots[row] = slot;
    if (flags[i] != 0) heads[slot] = row;
  }
}

__global__ void slots_of_runs_kernel(std::uint32_t const* runs, std::uint32_t const* order, std::uint32_t rows,
                                     std::uint32_t* slots, std::uint32_t* heads) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = order[i];
    slots[row] = runs[i];
    if (row < read_word(&heads[runs[i]])) atomicMin(&heads[runs[i]], row);
  }
}

}  // namespace

cudaError_t number_positions(Launch const& launch, std::uint32_t rows, std::uint32_t* positions) {
  GARUDA_LAUNCH(number_positions_kernel, rows)(positions, rows);
  return cudaGetLastError();
}

cudaError_t flag_runs(Launch const& launch, GroupKeys const& keys, std::uint32_t const* order, std::uint32_t* flags) {
  GARUDA_LAUNCH(flag_runs_kernel, keys.rows + 1ULL)(keys, order, flags);
  return cudaGetLastError();
}

cudaError_t slots_of_flags(Launch const& launch, std::uint32_t const* flags, std::uint32_t const* numbers,
                           std::uint32_t const* order, std::uint32_t rows, std::uint32_t* slots, std::uint32_t* heads) {
  GARUDA_LAUNCH(slots_of_flags_kernel, rows)(flags, numbers, order, rows, slots, heads);
  return cudaGetLastError();
}

cudaError_t slots_of_runs(Launch const& launch, std::uint32_t const* runs, std::uint32_t const* order,
                          std::uint32_t rows, std::uint32_t* slots, std::uint32_t* heads) {
  GARUDA_LAUNCH(slots_of_runs_kernel, rows)(runs, order, rows, slots, heads);
  return cudaGetLastError();
}

}  // namespace garuda::cuda_backend
