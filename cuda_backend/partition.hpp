// Rows brought into radix partitions by the low bits of their keys, with columns or row numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// log2 of the least power of two, from 2 on, that is not below `value`.
constexpr std::uint32_t log2_at_least(std::uint64_t value) noexcept {
  return value <= 2 ? 1 : static_cast<std::uint32_t>(std::bit_width(value - 1));
}

/// Most bits of one pass: rows of a tile that go to one partition should fill a line of the cache.
inline constexpr std::uint32_t kMostPassBits = 8;
/// Most bits of two passes.
inline constexpr std::uint32_t kMostPartitionBits = 2 * kMostPassBits;

/// How rows are partitioned: by passes over keys and columns together, or by CUB's radix sort, which takes one column.
enum class PartitionBy : std::uint8_t { automatic, passes, sort };
struct PartitionShape {
  std::uint32_t bits = 0;
  bool mixed = false;                       ///< keys are mixed first, and stay so
  std::uint32_t tile_items = 0;             ///< rows of a thread where no values are of 8 bytes: 8, 16; 0: what suits
  PartitionBy by = PartitionBy::automatic;  ///< other than one column always go by passes
};

/// Keys and columns in the order of their partitions.
struct PartitionedSide {
  Buffer keys;
  Buffer starts;  ///< 2^bits + 1 × u32
  std::vector<Buffer> columns;
};

/// A column of row numbers, for those that gather late.
inline constexpr GarudaCudaColumn kRowNumbers{0, 4};

/// Calls `use` with a key of `bytes`, 4 or 8.
template <class Use>
Result<void> with_key(std::uint32_t bytes, Use const& use) {
  return bytes == 4 ? use(std::uint32_t{}) : use(std::uint64_t{});
}

/// Partitions `rows` keys by their low bits, in one pass or two, with `columns`, kRowNumbers among
/// them; at most GARUDA_CUDA_MAX_COLUMNS. Waits for nothing. Partitions are numbered by these bits; their rows come in
/// any order, the same in all columns. Errors: limit_exceeded, out_of_memory, device_failure.
Result<PartitionedSide> partition(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows,
                                  std::span<GarudaCudaColumn const> columns, PartitionShape const& shape);

/// Keys that needs_mixing() looks at, at most.
inline constexpr std::uint32_t kSampledKeys = 1U << 13;
/// Whether the low `bits` bits of keys leave bins so uneven that they have to be mixed first: a sample of the keys puts
/// more than four times its share into one. Waits for the lane.
Result<bool> needs_mixing(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows, std::uint32_t bits);

}  // namespace garuda::cuda_backend
