// Sorts and scans of device arrays, by CUB. With `temp` null a call only says in `temp_bytes` what it needs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace garuda::cuda_backend {

/// Two buffers each for keys and values; `current` says which holds the data.
template <class Key, class Value>
struct SortBuffers {
  Key* keys[2] = {};
  Value* values[2] = {};
  int current = 0;

  Key* sorted_keys() const { return keys[current]; }
  Value* sorted_values() const { return values[current]; }
};

/// Sorts `rows` rows, stable, by bits [first_bit, end_bit) of their keys. Key and Value: u32 or u64.
template <class Key, class Value>
cudaError_t sort_pairs(void* temp, std::size_t& temp_bytes, SortBuffers<Key, Value>& buffers, std::uint32_t rows,
                       int first_bit, int end_bit, cudaStream_t stream);

/// The same into other arrays; the inputs stay as they are.
template <class Key, class Value>
cudaError_t sort_pairs_into(void* temp, std::size_t& temp_bytes, Key const* keys, Key* sorted_keys, Value const* values,
                            Value* sorted_values, std::uint32_t rows, int first_bit, int end_bit, cudaStream_t stream);

/// Exclusive prefix sums of `count` words, below 2^64 or 2^32 in all.
cudaError_t scan_to_u64(void* temp, std::size_t& temp_bytes, std::uint32_t const* words, std::uint64_t* sums,
                        std::uint32_t count, cudaStream_t stream);
cudaError_t scan_to_u32(void* temp, std::size_t& temp_bytes, std::uint32_t const* words, std::uint32_t* sums,
                        std::uint32_t count, cudaStream_t stream);

}  // namespace garuda::cuda_backend
