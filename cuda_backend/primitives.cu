#include "cuda_backend/primitives.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

namespace garuda::cuda_backend {

template <class Key, class Value>
cudaError_t sort_pairs(void* temp, std::size_t& temp_bytes, SortBuffers<Key, Value>& buffers, std::uint32_t rows,
                       int first_bit, int end_bit, cudaStream_t stream) {
  auto const other = 1 - buffers.current;
  cub::DoubleBuffer<Key> keys(buffers.keys[buffers.current], buffers.keys[other]);
  cub::DoubleBuffer<Value> values(buffers.values[buffers.current], buffers.values[other]);
  auto const status = cub::DeviceRadixSort::SortPairs(temp, temp_bytes, keys, values, rows, first_bit, end_bit, stream);
  if (temp != nullptr && status == cudaSuccess && keys.selector != 0) buffers.current = other;
  return status;
}

template <class Key, class Value>
cudaError_t sort_pairs_into(void* temp, std::size_t& temp_bytes, Key const* keys, Key* sorted_keys, Value const* values,
                            Value* sorted_values, std::uint32_t rows, int first_bit, int end_bit, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temp, temp_bytes, keys, sorted_keys, values, sorted_values, rows, first_bit,
                                         end_bit, stream);
}

#define GARUDA_SORT_PAIRS(Key, Value)                                                                                 \
  template cudaError_t sort_pairs<Key, Value>(void*, std::size_t&, SortBuffers<Key, Value>&, std::uint32_t, int, int, \
                                              cudaStream_t);                                                          \
  template cudaError_t sort_pairs_into<Key, Value>(void*, std::size_t&, Key const*, Key*, Value const*, Value*,       \
                                                   std::uint32_t, int, int, cudaStream_t)
GARUDA_SORT_PAIRS(std::uint32_t, std::uint32_t);
GARUDA_SORT_PAIRS(std::uint32_t, std::uint64_t);
GARUDA_SORT_PAIRS(std::uint64_t, std::uint32_t);
GARUDA_SORT_PAIRS(std::uint64_t, std::uint64_t);

cudaError_t scan_to_u64(void* temp, std::size_t& temp_bytes, std::uint32_t const* words, std::uint64_t* sums,
                        std::uint32_t count, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveScan(temp, temp_bytes, words, sums, ::cuda::std::plus<std::uint64_t>{},
                                        std::uint64_t{0}, count, stream);
}

cudaError_t scan_to_u32(void* temp, std::size_t& temp_bytes, std::uint32_t const* words, std::uint32_t* sums,
                        std::uint32_t count, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveScan(temp, temp_bytes, words, sums, ::cuda::std::plus<std::uint32_t>{},
                                        std::uint32_t{0}, count, stream);
}

}  // namespace garuda::cuda_backend
