// Prefix sums and sorts with scratch memory of a lane. Errors of all: limit_exceeded, out_of_memory, device_failure.
#pragma once

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/primitives.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {

/// Exclusive prefix sums of `count` words. Sum: u32 or u64.
template <class Sum>
Result<void> sum_up(Lane& lane, std::uint32_t const* words, Sum* sums, std::uint32_t count) {
  auto const scan = [&](void* temp, std::size_t& temp_bytes) {
    if constexpr (sizeof(Sum) == 4) {
      return scan_to_u32(temp, temp_bytes, words, sums, count, lane.stream());
    } else {
      return scan_to_u64(temp, temp_bytes, words, sums, count, lane.stream());
    }
  };
  std::size_t temp_bytes = 0;
  GARUDA_CUDA_TRY(scan(nullptr, temp_bytes));
  GARUDA_TRY_ASSIGN(auto const temp, lane.allocate(temp_bytes, "prefix sums"));
  GARUDA_CUDA_TRY(scan(temp.template as<void>(), temp_bytes));
  return {};
}

/// Sorts values by the low `bits` bits of their keys, stable, into other arrays. Inputs stay as they are.
template <class Key, class Value>
Result<void> sort_rows(Lane& lane, Key const* keys, Key* sorted_keys, Value const* rows, Value* sorted_rows,
                       std::uint32_t count, int bits = 8 * sizeof(Key)) {
  std::size_t temp_bytes = 0;
  GARUDA_CUDA_TRY(
      sort_pairs_into(nullptr, temp_bytes, keys, sorted_keys, rows, sorted_rows, count, 0, bits, lane.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane.allocate(temp_bytes, "sorting"));
  GARUDA_CUDA_TRY(sort_pairs_into(temp.template as<void>(), temp_bytes, keys, sorted_keys, rows, sorted_rows, count, 0,
                                  bits, lane.stream()));
  return {};
}

}  // namespace garuda::cuda_backend
