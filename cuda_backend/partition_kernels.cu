// A block takes a tile of rows, counts their digits in shared memory, takes as many places from each partition's
// cursor, and writes the rows from shared memory in the order of their digits, so that neighbours go to neighbours.
// Tiles that run side by side take neighbouring places, and the second-level cache puts their pieces together. Nothing
// waits for another block.
#include "cuda_backend/partition_kernels.hpp"

#include <cub/block/block_scan.cuh>

#include "cuda_backend/hashing.cuh"
#include "cuda_backend/striped_loads.cuh"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kLargeBlock = 1024;  // threads of the scatter, without values of 8 bytes
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
constexpr unsigned kFullBlocks = 1;  // large blocks that a multiprocessor has threads for
#else
constexpr unsigned kFullBlocks = 2;
#endif
constexpr unsigned kManyItems = 16;   // rows of a thread of the scatter; more would not fit the registers
constexpr unsigned kFewItems = 8;     // with keys or columns of 8 bytes, and of small tables
constexpr unsigned kBatch = 8;        // of them a thread has under way between shared memory and memory
constexpr unsigned kCountItems = 8;   // keys that a thread of the count has under way
constexpr unsigned kCountBlocks = 4;  // of the count a multiprocessor

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
    auto const digits = digits_of<Key>(pass, tile.first);
    base = digits.base;
    auto const end = std::uint64_t{tile.first} + tile.rows;
    for (std::uint64_t first = tile.first; first < end; first += kCountTile) count_keys(pass, digits, first, end, own);
  }
  __syncthreads();
  for (auto b = threadIdx.x; b < 1U << pass.bits; b += kThreads)
    if (own[b] > 0) atomicAdd(&counts[base + b], own[b]);
}

template <class Key>
__global__ void find_starts_kernel(Key const* keys, std::uint32_t rows, std::uint32_t bits, std::uint32_t* starts) {
  auto const mask = (Key{1} << bits) - 1;
  for (auto p = global_thread(); p <= std::uint64_t{1} << bits; p += grid_threads()) {
    std::uint32_t low = 0;
    std::uint32_t high = rows;
    while (low < high) {
      auto const middle = low + (high - low) / 2;
      if ((keys[middle] & mask) < p) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[p] = low;
  }
}

__device__ std::uint32_t tiles_of(std::uint32_t const* starts, std::uint64_t partition, std::uint32_t tile) {
  auto const rows = starts[partition + 1] - starts[partition];
  return rows / tile + (rows % tile != 0 ? 1 : 0);
}

__global__ void count_tiles_kernel(std::uint32_t const* starts, std::uint32_t partitions, std::uint32_t tile,
                                   std::uint32_t* counts) {
  for (auto p = global_thread(); p <= partitions; p += grid_threads())
    counts[p] = p < partitions ? tiles_of(starts, p, tile) : 0;
}

/// A warp a partition.
__global__ void list_tiles_kernel(std::uint32_t const* starts, std::uint64_t const* firsts, std::uint32_t partitions,
                                  std::uint32_t tile, Tile* tiles) {
  for (auto p = global_thread() / 32; p < partitions; p += grid_threads() / 32) {
    auto const count = tiles_of(starts, p, tile);
    for (auto t = threadIdx.x % 32; t < count; t += 32) {
      auto const first = starts[p] + t * tile;
      auto const left = starts[p + 1] - first;
      tiles[firsts[p] + t] = {first, left < tile ? left : tile};
    }
  }
}

/// Blocks a multiprocessor that registers are shared out for. Wide values and many rows need more of them.
constexpr unsigned blocks_each(unsigned width, unsigned items, bool wide) {
  if (wide || items == kManyItems) return 1024 / width;
  return width == kLargeBlock ? kFullBlocks : 3;
}

/// What a block of the scatter keeps: a column of the tile, the rows of each digit, which become the distance from a
/// row's place in the tile to its place in memory, and where digits begin in the tile.
struct TileMemory {
  unsigned char* staged;
  std::uint32_t* counters;
  std::uint32_t* begins;
};

template <unsigned kWidth>
using TileScan = cub::BlockScan<std::uint32_t, kWidth, cub::BLOCK_SCAN_WARP_SCANS>;

/// From the rows of digits to begins and distances, and takes the places.
template <unsigned kWidth>
__device__ void take_places(TileMemory const& tile, std::uint32_t digits, std::uint32_t* cursors,
                            typename TileScan<kWidth>::TempStorage& scan_memory) {
  auto const count = threadIdx.x < digits ? tile.counters[threadIdx.x] : 0;
  std::uint32_t begin = 0;
  TileScan<kWidth>(scan_memory).ExclusiveSum(count, begin);
  if (threadIdx.x >= digits) return;
  tile.begins[threadIdx.x] = begin;
  if (count > 0) tile.counters[threadIdx.x] = atomicAdd(&cursors[threadIdx.x], count) - begin;
}

/// Keeps the compiler from having more loads of an unrolled loop under way than there are registers for.
__device__ void end_batch(unsigned item) {
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
template <class Value, unsigned kWidth, unsigned kItems>
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
      auto const row = (batch + item) * kWidth + threadIdx.x;
      if (row < rows) values[item] = source == nullptr ? static_cast<Value>(first + row) : source[first + row];
    }
#pragma unroll
    for (unsigned item = 0; item < kBatch; ++item)
      if ((batch + item) * kWidth + threadIdx.x < rows) staged[slots.of(batch + item)] = values[item];
    asm volatile("" ::: "memory");
  }
  __syncthreads();
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    auto const slot = item * kWidth + threadIdx.x;
    if (slot < rows) target[targets[item]] = staged[slot];
    end_batch(item);
  }
}

template <class Key, unsigned kWidth, unsigned kItems, bool kWide>
__device__ void scatter_tile(PartitionPass const& pass, TileMemory const& tile, std::uint32_t first, std::uint32_t rows,
                             typename TileScan<kWidth>::TempStorage& scan_memory) {
  auto const digits = digits_of<Key>(pass, first);
  auto const has = [&](unsigned item) { return item * kWidth + threadIdx.x < rows; };
  Key keys[kItems];
  auto const* const source = static_cast<Key const*>(pass.keys) + first;
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item)
    if (has(item)) keys[item] = source[item * kWidth + threadIdx.x];
  TileSlots<kItems> slots;
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    if (!has(item)) continue;
    if (pass.mixed) keys[item] = mix(keys[item]);
    slots.add(item, atomicAdd(&tile.counters[digits.of(keys[item])], 1U));
  }
  __syncthreads();
  take_places<kWidth>(tile, digits.mask + 1, pass.cursors + digits.base, scan_memory);
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
    auto const slot = item * kWidth + threadIdx.x;
    auto const key = staged[slot];
    targets[item] = tile.counters[digits.of(key)] + slot;
    keys_out[targets[item]] = key;
    end_batch(item);
  }
  for (std::uint32_t c = 0; c < pass.num_columns; ++c) {
    if (pass.columns[c].bytes == 4) {
      move_column<std::uint32_t, kWidth, kItems>(tile, pass.columns[c], first, rows, slots, targets);
    } else if constexpr (kWide) {
      move_column<std::uint64_t, kWidth, kItems>(tile, pass.columns[c], first, rows, slots, targets);
    }
  }
}

/// A block a tile, below 2^16 rows. Without kWide all columns are of 4 bytes.
template <class Key, unsigned kWidth, unsigned kItems, bool kWide>
__global__ void __launch_bounds__(kWidth, blocks_each(kWidth, kItems, kWide)) scatter_kernel(PartitionPass pass) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ std::uint32_t counters[1U << kMostPassBits];
  __shared__ std::uint32_t begins[1U << kMostPassBits];
  __shared__ typename TileScan<kWidth>::TempStorage scan_memory;
  constexpr auto kTile = kWidth * kItems;
  if (pass.tiles.tiles != nullptr && blockIdx.x >= *pass.tiles.count) return;
  if (threadIdx.x < 1U << kMostPassBits) counters[threadIdx.x] = 0;
  __syncthreads();
  TileMemory const memory{shared_memory, counters, begins};
  if (pass.tiles.tiles == nullptr) {
    auto const first = blockIdx.x * kTile;
    scatter_tile<Key, kWidth, kItems, kWide>(pass, memory, first, pass.rows - first < kTile ? pass.rows - first : kTile,
                                             scan_memory);
  } else {
    auto const tile = pass.tiles.tiles[blockIdx.x];
    scatter_tile<Key, kWidth, kItems, kWide>(pass, memory, tile.first, tile.rows, scan_memory);
  }
}

template <class Key, unsigned kWidth, unsigned kItems, bool kWide>
cudaError_t launch_scatter(Launch const& launch, PartitionPass const& pass) {
  static_assert(1U << kMostPassBits <= kWidth);
  constexpr auto kTile = kWidth * kItems;
  constexpr auto kBytes = kTile * (kWide ? 8 : 4);
  auto* const kernel = scatter_kernel<Key, kWidth, kItems, kWide>;
  auto const status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes));
  if (status != cudaSuccess) return status;
  auto const blocks = pass.tiles.tiles != nullptr ? pass.tiles.most : pass.rows / kTile + (pass.rows % kTile != 0);
  kernel<<<blocks, kWidth, kBytes, launch.stream>>>(pass);
  return cudaGetLastError();
}

}  // namespace

template <class Key>
cudaError_t find_starts_of_sorted(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits,
                                  std::uint32_t* starts) {
  auto const blocks = grid_for((1ULL << bits) + 1, kThreads, launch.multiprocessors);
  find_starts_kernel<<<blocks, kThreads, 0, launch.stream>>>(keys, rows, bits, starts);
  return cudaGetLastError();
}

template <class Key>
cudaError_t sample_digits(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t* bins) {
  sample_digits_kernel<<<1, 1024, 0, launch.stream>>>(keys, rows, bins);
  return cudaGetLastError();
}

template <class Key>
cudaError_t count_digits(Launch const& launch, PartitionPass const& pass, std::uint32_t* counts) {
  auto const stretches = static_cast<std::uint32_t>(pass.rows / kCountTile) + 1;
  auto const most = launch.multiprocessors * kCountBlocks;
  auto const blocks = pass.tiles.tiles != nullptr ? pass.tiles.most : stretches < most ? stretches : most;
  count_digits_kernel<Key><<<blocks, kThreads, 0, launch.stream>>>(pass, counts);
  return cudaGetLastError();
}

cudaError_t count_tiles(Launch const& launch, std::uint32_t const* starts, std::uint32_t partitions, std::uint32_t tile,
                        std::uint32_t* counts) {
  auto const blocks = grid_for(partitions + 1ULL, kThreads, launch.multiprocessors);
  count_tiles_kernel<<<blocks, kThreads, 0, launch.stream>>>(starts, partitions, tile, counts);
  return cudaGetLastError();
}

cudaError_t list_tiles(Launch const& launch, std::uint32_t const* starts, std::uint64_t const* firsts,
                       std::uint32_t partitions, std::uint32_t tile, Tile* tiles) {
  auto const blocks = grid_for(partitions * 32ULL, kThreads, launch.multiprocessors);
  list_tiles_kernel<<<blocks, kThreads, 0, launch.stream>>>(starts, firsts, partitions, tile, tiles);
  return cudaGetLastError();
}

template <class Key>
cudaError_t scatter(Launch const& launch, PartitionPass const& pass) {
  bool is_wide = sizeof(Key) == 8;
  for (std::uint32_t c = 0; c < pass.num_columns; ++c) is_wide = is_wide || pass.columns[c].bytes == 8;
  if constexpr (sizeof(Key) == 4) {
    bool const has_many = pass.shape.items == kManyItems;
    if (!is_wide && pass.shape.threads == kLargeBlock)
      return has_many ? launch_scatter<Key, kLargeBlock, kManyItems, false>(launch, pass)
                      : launch_scatter<Key, kLargeBlock, kFewItems, false>(launch, pass);
    if (!is_wide)
      return has_many ? launch_scatter<Key, kThreads, kManyItems, false>(launch, pass)
                      : launch_scatter<Key, kThreads, kFewItems, false>(launch, pass);
  }
  return launch_scatter<Key, kThreads, kFewItems, true>(launch, pass);
}

TileShape suitable_tile(Launch const& launch, std::uint32_t rows, bool is_wide) {
  constexpr std::uint64_t kTilesEach = 4;  // a multiprocessor
  auto const suits = rows >= std::uint64_t{kThreads} * kManyItems * launch.multiprocessors * kTilesEach;
  return {kThreads, !is_wide && suits ? kManyItems : kFewItems};
}

#define GARUDA_PARTITION_KERNELS(Key)                                                                                  \
  template cudaError_t sample_digits(Launch const&, Key const*, std::uint32_t, std::uint32_t*);                        \
  template cudaError_t find_starts_of_sorted(Launch const&, Key const*, std::uint32_t, std::uint32_t, std::uint32_t*); \
  template cudaError_t count_digits<Key>(Launch const&, PartitionPass const&, std::uint32_t*);                         \
  template cudaError_t scatter<Key>(Launch const&, PartitionPass const&)
GARUDA_PARTITION_KERNELS(std::uint32_t);
GARUDA_PARTITION_KERNELS(std::uint64_t);

}  // namespace garuda::cuda_backend
