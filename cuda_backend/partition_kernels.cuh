// Kernels that bring rows into radix partitions, keys and all columns in one pass. A block takes a tile of rows, counts
// their digits in shared memory, takes as many places from each partition's cursor, and writes the rows from shared
// memory in the order of their digits, so that neighbours go to neighbours. Tiles that run side by side take
// neighbouring places, and the second-level cache puts their pieces together. Nothing waits for another block.
#pragma once

#include <array>
#include <cstdint>

#include <cub/block/block_scan.cuh>

#include "cuda_backend/hashing.cuh"
#include "cuda_backend/join/chunk_tasks.hpp"
#include "cuda_backend/launch.cuh"
#include "cuda_backend/partition.hpp"

namespace garuda::cuda_backend {

constexpr unsigned kThreads = 512;
constexpr unsigned kManyItems = 16;   // rows of a thread of the scatter; more would not fit the registers
constexpr unsigned kFewItems = 8;     // with keys or columns of 8 bytes, and of small tables
constexpr unsigned kBatch = 8;        // of them a thread has under way between shared memory and memory
constexpr unsigned kCountItems = 8;   // keys that a thread of the count has under way
constexpr unsigned kCountBlocks = 4;  // of the count a multiprocessor

/// A column on its way into partitions. source null: row numbers, of 4 bytes.
struct MovedColumn {
  void const* source = nullptr;
  void* target = nullptr;
  std::uint32_t bytes = 4;  ///< 4 or 8
};

/// Tiles of one partition each, in device memory; none: tiles of all rows.
struct TileList {
  ChunkTask const* tiles = nullptr;
  std::uint64_t const* count = nullptr;  ///< how many there are, at most `most`
  std::uint32_t most = 0;
};

/// A pass reads and writes these: bits [shift, shift + bits) of the keys, which are mixed first if `mixed`. The
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
  std::uint32_t tile_items = 0;  ///< rows of a thread of a tile: kFewItems, or without values of 8 bytes kManyItems
  std::uint32_t num_columns = 0;
  std::array<MovedColumn, GARUDA_CUDA_MAX_COLUMNS> columns{};
};

/// Counts 2^13 keys, spread over `rows`, by bits [0, 8) and [8, 16). bins: 2 × 256, written.
template <class Key>
__global__ void sample_digits_kernel(Key const* keys, std::uint32_t rows, std::uint32_t* bins) {
  __shared__ std::uint32_t counts[512];
  for (auto i = threadIdx.x; i < 512; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  auto const samples = rows < kSampledKeys ? rows : kSampledKeys;
  for (auto i = threadIdx.x; i < samples; i += blockDim.x) {
    auto const key = keys[std::uint64_t{i} * rows / samples];
    atomicAdd(&counts[key & 0xff], 1U);
    atomicAdd(&counts[256 + (key >> 8 & 0xff)], 1U);
  }
  __syncthreads();
  for (auto i = threadIdx.x; i < 512; i += blockDim.x) bins[i] = counts[i];
}

/// The digit of a key in a pass, and where the partitions of a tile's digits begin.
template <class Key>
struct Digits {
  std::uint32_t shift;
  std::uint32_t mask;
  std::uint32_t base;

  __device__ std::uint32_t of(Key key) const { return static_cast<std::uint32_t>(key >> shift) & mask; }
};
template <class Key>
__device__ Digits<Key> digits_of(PartitionPass const& pass, std::uint32_t first) {
  std::uint32_t before = 0;
  if (pass.bits_before > 0)
    before = static_cast<std::uint32_t>(static_cast<Key const*>(pass.keys)[first] >> (pass.shift + pass.bits));
  return {pass.shift, (1U << pass.bits) - 1, (before & ((1U << pass.bits_before) - 1)) << pass.bits};
}

/// Adds up the digits of keys [first, end) that are the block's.
template <class Key>
__device__ void count_keys(PartitionPass const& pass, Digits<Key> const& digits, std::uint64_t first, std::uint64_t end,
                           std::uint32_t* own) {
  auto const* const keys = static_cast<Key const*>(pass.keys);
  Key loaded[kCountItems];
  load_striped<kThreads>(keys, first, end, loaded);
#pragma unroll
  for (unsigned item = 0; item < kCountItems; ++item) {
    auto const key = pass.mixed ? mix(loaded[item]) : loaded[item];
    if (first + item * kThreads + threadIdx.x < end) atomicAdd(&own[digits.of(key)], 1U);
  }
}

constexpr std::uint64_t kCountTile = kThreads * kCountItems;

/// A block counts every gridDim.x-th stretch of all rows, or a tile of a partition.
template <class Key>
__global__ void __launch_bounds__(kThreads) count_digits_kernel(PartitionPass pass, std::uint32_t* counts) {
  __shared__ std::uint32_t own[1U << kMostPassBits];
  if (pass.tiles.tiles != nullptr && blockIdx.x >= *pass.tiles.count) return;
  for (auto b = threadIdx.x; b < 1U << pass.bits; b += kThreads) own[b] = 0;
  __syncthreads();
  std::uint32_t base = 0;
  if (pass.tiles.tiles == nullptr) {
    auto const digits = digits_of<Key>(pass, 0);
    for (auto first = blockIdx.x * kCountTile; first < pass.rows; first += gridDim.x * kCountTile)
      count_keys(pass, digits, first, std::uint64_t{pass.rows}, own);
  } else {
    auto const tile = pass.tiles.tiles[blockIdx.x];
    auto const digits = digits_of<Key>(pass, tile.build_first);
    base = digits.base;
    auto const end = std::uint64_t{tile.build_first} + tile.build_rows;
    for (std::uint64_t first = tile.build_first; first < end; first += kCountTile)
      count_keys(pass, digits, first, end, own);
  }
  __syncthreads();
  for (auto b = threadIdx.x; b < 1U << pass.bits; b += kThreads)
    if (own[b] > 0) atomicAdd(&counts[base + b], own[b]);
}

/// Blocks a multiprocessor that registers are shared out for. Wide values and many rows need more of them.
constexpr unsigned blocks_each(unsigned items, bool wide) { return wide || items == kManyItems ? 2 : 3; }

/// A block of the scatter keeps a column of the tile, the rows of each digit, which become the distance from a
/// row's place in the tile to its place in memory, and where digits begin in the tile.
struct TileMemory {
  unsigned char* staged;
  std::uint32_t* counters;
  std::uint32_t* begins;
};

using TileScan = cub::BlockScan<std::uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

/// Makes begins and distances of the rows of digits, and takes the places.
__device__ inline void take_places(TileMemory const& tile, std::uint32_t digits, std::uint32_t* cursors,
                                   TileScan::TempStorage& scan_memory) {
  auto const count = threadIdx.x < digits ? tile.counters[threadIdx.x] : 0;
  std::uint32_t begin = 0;
  TileScan(scan_memory).ExclusiveSum(count, begin);
  if (threadIdx.x >= digits) return;
  tile.begins[threadIdx.x] = begin;
  if (count > 0) tile.counters[threadIdx.x] = atomicAdd(&cursors[threadIdx.x], count) - begin;
}

/// Keeps the compiler from having more loads of an unrolled loop under way than there are registers for.
__device__ inline void end_batch(unsigned item) {
  if (item % kBatch == kBatch - 1) asm volatile("" ::: "memory");
}

/// Places of a thread's rows in the tile's order, two to a word.
template <unsigned kItems>
struct TileSlots {
  std::uint32_t words[kItems / 2] = {};

  __device__ std::uint32_t of(unsigned item) const { return words[item / 2] >> (16 * (item % 2)) & 0xffffU; }
  /// The sum stays below 2^16.
  __device__ void add(unsigned item, std::uint32_t value) { words[item / 2] += value << (16 * (item % 2)); }
  /// Keeps the compiler from unpacking them once for all columns, into twice the registers.
  __device__ void stay_packed() {
#pragma unroll
    for (auto& word : words) asm volatile("" : "+r"(word));
  }
};

/// Puts a column into the tile's order and writes it.
template <class Value, unsigned kItems>
__device__ void move_column(TileMemory const& tile, MovedColumn const& column, std::uint32_t first, std::uint32_t rows,
                            TileSlots<kItems>& slots, std::uint32_t const (&targets)[kItems]) {
  auto* const staged = reinterpret_cast<Value*>(tile.staged);
  auto const* const source = static_cast<Value const*>(column.source);
  auto* const target = static_cast<Value*>(column.target);
  slots.stay_packed();
  asm volatile("" : "+r"(first), "+r"(rows));
  __syncthreads();  // the column before was written
#pragma unroll
  for (unsigned batch = 0; batch < kItems; batch += kBatch) {
    Value values[kBatch];
#pragma unroll
    for (unsigned item = 0; item < kBatch; ++item) {
      auto const row = (batch + item) * kThreads + threadIdx.x;
      if (row < rows) values[item] = source == nullptr ? static_cast<Value>(first + row) : source[first + row];
    }
#pragma unroll
    for (unsigned item = 0; item < kBatch; ++item)
      if ((batch + item) * kThreads + threadIdx.x < rows) staged[slots.of(batch + item)] = values[item];
    asm volatile("" ::: "memory");
  }
  __syncthreads();
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    auto const slot = item * kThreads + threadIdx.x;
    if (slot < rows) target[targets[item]] = staged[slot];
    end_batch(item);
  }
}

template <class Key, unsigned kItems, bool kWide>
__device__ void scatter_tile(PartitionPass const& pass, TileMemory const& tile, std::uint32_t first, std::uint32_t rows,
                             TileScan::TempStorage& scan_memory) {
  auto const digits = digits_of<Key>(pass, first);
  auto const has = [&](unsigned item) { return item * kThreads + threadIdx.x < rows; };
  Key keys[kItems];
  auto const* const source = static_cast<Key const*>(pass.keys) + first;
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item)
    if (has(item)) keys[item] = source[item * kThreads + threadIdx.x];
  TileSlots<kItems> slots;
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    if (!has(item)) continue;
    if (pass.mixed) keys[item] = mix(keys[item]);
    slots.add(item, atomicAdd(&tile.counters[digits.of(keys[item])], 1U));
  }
  __syncthreads();
  take_places(tile, digits.mask + 1, pass.cursors + digits.base, scan_memory);
  __syncthreads();
  auto* const staged = reinterpret_cast<Key*>(tile.staged);
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    if (!has(item)) continue;
    slots.add(item, tile.begins[digits.of(keys[item])]);
    staged[slots.of(item)] = keys[item];
  }
  __syncthreads();
  std::uint32_t targets[kItems];
  auto* const keys_out = static_cast<Key*>(pass.keys_out);
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    if (!has(item)) continue;
    auto const slot = item * kThreads + threadIdx.x;
    auto const key = staged[slot];
    targets[item] = tile.counters[digits.of(key)] + slot;
    keys_out[targets[item]] = key;
    end_batch(item);
  }
  for (std::uint32_t c = 0; c < pass.num_columns; ++c) {
    if (pass.columns[c].bytes == 4) {
      move_column<std::uint32_t, kItems>(tile, pass.columns[c], first, rows, slots, targets);
    } else if constexpr (kWide) {
      move_column<std::uint64_t, kItems>(tile, pass.columns[c], first, rows, slots, targets);
    }
  }
}

/// A block a tile, below 2^16 rows. Without kWide all columns are of 4 bytes.
template <class Key, unsigned kItems, bool kWide>
__global__ void __launch_bounds__(kThreads, blocks_each(kItems, kWide)) scatter_kernel(PartitionPass pass) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ std::uint32_t counters[1U << kMostPassBits];
  __shared__ std::uint32_t begins[1U << kMostPassBits];
  __shared__ TileScan::TempStorage scan_memory;
  constexpr auto kTile = kThreads * kItems;
  if (pass.tiles.tiles != nullptr && blockIdx.x >= *pass.tiles.count) return;
  if (threadIdx.x < 1U << kMostPassBits) counters[threadIdx.x] = 0;
  __syncthreads();
  TileMemory const memory{shared_memory, counters, begins};
  if (pass.tiles.tiles == nullptr) {
    auto const first = blockIdx.x * kTile;
    scatter_tile<Key, kItems, kWide>(pass, memory, first, pass.rows - first < kTile ? pass.rows - first : kTile,
                                     scan_memory);
  } else {
    auto const tile = pass.tiles.tiles[blockIdx.x];
    scatter_tile<Key, kItems, kWide>(pass, memory, tile.build_first, tile.build_rows, scan_memory);
  }
}

}  // namespace garuda::cuda_backend
