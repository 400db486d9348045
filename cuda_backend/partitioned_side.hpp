// Resident columns brought into radix partitions by the low bits of their keys, and the choice of these bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/partition_kernels.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// How rows are partitioned: by passes over keys and columns together, or by CUB's radix sort, which takes one column.
enum class PartitionBy : std::uint8_t { automatic, passes, sort };
struct PartitionShape {
  std::uint32_t bits = 0;
  bool mixed = false;              ///< keys are mixed first, and stay so
  std::uint32_t tile_threads = 0;  ///< TileShape where no values are of 8 bytes; 0: what suits
  std::uint32_t tile_items = 0;
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

/// Partitions `rows` keys by their low bits, in one pass or two, with `columns`, kRowNumbers among them; at most
/// GARUDA_CUDA_MAX_COLUMNS. Waits for nothing. Partitions are numbered by these bits; their rows come in any order, the
/// same in all columns. Errors: limit_exceeded, out_of_memory, device_failure.
template <class Key>
Result<PartitionedSide> partition(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows,
                                  std::span<GarudaCudaColumn const> columns, PartitionShape const& shape);

/// Whether the low `bits` bits of keys leave bins so uneven that they have to be mixed first: a sample of the keys puts
/// more than four times its share into one. Waits for the lane.
template <class Key>
Result<bool> needs_mixing(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits);

}  // namespace garuda::cuda_backend
