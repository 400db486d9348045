// Kernels that bring the rows of resident columns into radix partitions, keys and all columns in one pass. Launch
// functions return what CUDA says of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

/// Most bits of one pass: rows of a tile that go to one partition should fill a line of the cache.
inline constexpr std::uint32_t kMostPassBits = 8;
/// Most bits of two passes.
inline constexpr std::uint32_t kMostPartitionBits = 2 * kMostPassBits;

/// A column on its way into partitions. source null: row numbers, of 4 bytes.
struct MovedColumn {
  void const* source = nullptr;
  void* target = nullptr;
  std::uint32_t bytes = 4;  ///< 4 or 8
};

/// What a block takes: `threads` 512, or without values of 8 bytes 1024; of each thread 8 rows, or without such values
/// 16.
struct TileShape {
  std::uint32_t threads = 512;
  std::uint32_t items = 8;

  std::uint32_t rows() const { return threads * items; }
};

/// A stretch of rows that a block moves.
struct Tile {
  std::uint32_t first;
  std::uint32_t rows;
};

/// Tiles of one partition each, in device memory; none: tiles of all rows.
struct TileList {
  Tile const* tiles = nullptr;
  std::uint64_t const* count = nullptr;  ///< how many there are, at most `most`
  std::uint32_t most = 0;
};

/// What a pass reads and writes: bits [shift, shift + bits) of the keys, which are mixed first if `mixed`. The
/// partition of a row are these bits behind the `bits_before` above them, by which passes before have partitioned
/// already, so that all rows of a tile share them.
struct PartitionPass {
  void const* keys = nullptr;
  void* keys_out = nullptr;
  std::uint32_t* cursors = nullptr;  ///< a partition: where it begins; used up
  std::uint32_t rows = 0;
  std::uint32_t shift = 0;
  std::uint32_t bits = 0;
  std::uint32_t bits_before = 0;
  TileList tiles;  ///< where bits_before > 0
  bool mixed = false;
  TileShape shape;
  std::uint32_t num_columns = 0;
  std::array<MovedColumn, GARUDA_CUDA_MAX_COLUMNS> columns{};
};

/// Counts 2^13 keys, spread over `rows`, by bits [0, 8) and [8, 16). bins: 2 × 256, written.
template <class Key>
cudaError_t sample_digits(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t* bins);
inline constexpr std::uint32_t kSampledKeys = 1U << 13;

/// Where each of 2^bits partitions begins among keys that are sorted by their low bits; one more entry for the end.
template <class Key>
cudaError_t find_starts_of_sorted(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits,
                                  std::uint32_t* starts);

/// Adds to `counts` the rows of each partition.
template <class Key>
cudaError_t count_digits(Launch const& launch, PartitionPass const& pass, std::uint32_t* counts);
/// Cuts each of `partitions` into tiles of at most `tile` rows. firsts: partitions + 1, the number of the first tile of
/// each.
cudaError_t list_tiles(Launch const& launch, std::uint32_t const* starts, std::uint64_t const* firsts,
                       std::uint32_t partitions, std::uint32_t tile, Tile* tiles);
/// counts: partitions + 1, the tiles of each; the last is 0.
cudaError_t count_tiles(Launch const& launch, std::uint32_t const* starts, std::uint32_t partitions, std::uint32_t tile,
                        std::uint32_t* counts);
/// Moves keys, mixed where the pass mixes, and columns. Rows of a partition come in any order, the same in all columns.
template <class Key>
cudaError_t scatter(Launch const& launch, PartitionPass const& pass);
/// The tile that suits so many rows; values of 8 bytes among them if `is_wide`.
TileShape suitable_tile(Launch const& launch, std::uint32_t rows, bool is_wide);

}  // namespace garuda::cuda_backend
