// Sorting of resident columns by the low bits of their keys, and the choice of these bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/primitives.hpp"
#include "cuda_backend/resident_kernels.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda {

/// Sorts a column by bits [0, bits) of `keys`, stable, into other arrays. Inputs stay as they are.
template <class Key, class Value>
Result<void> sort_column(Lane& lane, Key const* keys, Key* sorted_keys, Value const* values, Value* sorted_values,
                         std::uint32_t rows, std::uint32_t bits) {
  std::size_t temp_bytes = 0;
  auto const end_bit = static_cast<int>(bits);
  GARUDA_CUDA_TRY(
      sort_pairs_into(nullptr, temp_bytes, keys, sorted_keys, values, sorted_values, rows, 0, end_bit, lane.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane.allocate(temp_bytes, "sorting"));
  GARUDA_CUDA_TRY(sort_pairs_into(temp.template as<void>(), temp_bytes, keys, sorted_keys, values, sorted_values, rows,
                                  0, end_bit, lane.stream()));
  return {};
}

/// Whether the low `bits` bits of keys leave bins so uneven that they have to be mixed first: a sample of the keys puts
/// more than four times its share into one. Waits for the lane.
template <class Key>
Result<bool> needs_mixing(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits) {
  constexpr std::uint32_t kUneven = 4;
  GARUDA_TRY_ASSIGN(auto const bins, lane.allocate(512 * 4, "sampled digits"));
  GARUDA_CUDA_TRY(sample_digits(launch, keys, rows, bins.template as<std::uint32_t>()));
  std::uint32_t counts[512];
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(counts)), bins.template as<void>()));
  auto const samples = std::min(rows, kSampledKeys);
  auto const is_uneven = [&](std::uint32_t first, std::uint32_t digit_bits) {
    if (digit_bits == 0) return false;
    auto const used = 1U << std::min(digit_bits, 8U);
    // A digit of fewer than eight bits counts its upper bits away.
    std::uint32_t folded[256] = {};
    for (std::uint32_t b = 0; b < 256; ++b) folded[b % used] += counts[first + b];
    return *std::max_element(folded, folded + used) > kUneven * (samples / used + 8);
  };
  return is_uneven(0, bits) || is_uneven(256, bits > 8 ? bits - 8 : 0);
}

}  // namespace garuda::cuda
