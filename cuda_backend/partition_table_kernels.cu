// A block keeps the table of a partition's keys in shared memory: open addressing, a slot a key, found by the leading
// bits of mixed keys, whose low bits are the partition's.
#include <cub/block/block_scan.cuh>

#include "cuda_backend/hashing.cuh"
#include "cuda_backend/join_kernels.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kSlotsEach = kPartitionSlots / kThreads;
constexpr unsigned kProbeChunk = 8192;  // probe rows of a block
constexpr std::uint32_t kLog2Slots = 12;
static_assert(1U << kLog2Slots == kPartitionSlots);
constexpr std::uint32_t kNoSlot = 0xffff'ffffU;

using Scan = cub::BlockScan<std::uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

/// The slot of `key` among heads, which index `keys`; kNoSlot: it is not there. With kInsert it is entered as `row`,
/// and kNoSlot says that all slots are taken.
template <bool kInsert, class Key>
__device__ std::uint32_t find_slot(std::uint32_t* heads, Key const* keys, Key key, std::uint32_t row) {
  auto slot = static_cast<std::uint32_t>(key >> (8 * sizeof(Key) - kLog2Slots));
  for (std::uint32_t step = 0; step < kPartitionSlots; ++step) {
    auto head = *static_cast<std::uint32_t volatile*>(&heads[slot]);
    if (kInsert && head == kNoRow) head = atomicCAS(&heads[slot], kNoRow, row);
    if (head == kNoRow) return kInsert ? slot : kNoSlot;
    if (keys[head] == key) return slot;
    slot = (slot + 1) % kPartitionSlots;
  }
  return kNoSlot;
}

/// Rows of a partition while they are grouped.
struct GroupMemory {
  std::uint32_t* heads;
  std::uint32_t* runs;     ///< rows of a slot's key, then where they begin
  std::uint32_t* cursors;  ///< where its next row goes
};

/// From the rows of each slot to runs and cursors, and the list of the partition's keys.
template <class Key>
__device__ void list_runs(GroupMemory const& memory, Key const* keys, PartitionTables const& tables,
                          std::uint32_t partition, std::uint32_t begin, Scan::TempStorage& scan_memory) {
  std::uint32_t rows = 0;
  std::uint32_t used = 0;
  for (unsigned j = 0; j < kSlotsEach; ++j) {
    auto const slot = threadIdx.x * kSlotsEach + j;
    rows += memory.runs[slot];
    used += memory.heads[slot] != kNoRow ? 1 : 0;
  }
  std::uint32_t run = 0;
  Scan(scan_memory).ExclusiveSum(rows, run);
  __syncthreads();
  std::uint32_t entry = 0;
  std::uint32_t entries = 0;
  Scan(scan_memory).ExclusiveSum(used, entry, entries);
  if (threadIdx.x == 0) tables.distinct[partition] = entries;
  for (unsigned j = 0; j < kSlotsEach; ++j) {
    auto const slot = threadIdx.x * kSlotsEach + j;
    auto const count = memory.runs[slot];
    memory.runs[slot] = begin + run;
    memory.cursors[slot] = begin + run;
    if (memory.heads[slot] == kNoRow) continue;
    static_cast<Key*>(tables.keys)[begin + entry] = keys[memory.heads[slot]];
    tables.runs[begin + entry] = begin + run;
    tables.counts[begin + entry] = count;
    ++entry;
    run += count;
  }
}

/// A block a partition.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    group_partition_rows_kernel(Key const* keys, std::uint32_t const* row_ids, PartitionTables tables,
                                std::uint32_t* order, std::uint32_t* runs) {
  extern __shared__ std::uint32_t shared_words[];
  __shared__ Scan::TempStorage scan_memory;
  GroupMemory const memory{shared_words, shared_words + kPartitionSlots, shared_words + 2 * kPartitionSlots};
  auto const partition = blockIdx.x;
  auto const begin = tables.starts[partition];
  auto const rows = tables.starts[partition + 1] - begin;
  for (auto slot = threadIdx.x; slot < kPartitionSlots; slot += kThreads) {
    memory.heads[slot] = kNoRow;
    memory.runs[slot] = 0;
  }
  __syncthreads();
  for (auto i = threadIdx.x; i < rows; i += kThreads) {
    auto const slot = find_slot<true>(memory.heads, keys + begin, keys[begin + i], i);
    if (slot == kNoSlot) {
      *tables.overflow = 1;
    } else {
      atomicAdd(&memory.runs[slot], 1U);
    }
  }
  __syncthreads();
  list_runs(memory, keys + begin, tables, partition, begin, scan_memory);
  __syncthreads();
  for (auto i = threadIdx.x; i < rows; i += kThreads) {
    auto const slot = find_slot<false>(memory.heads, keys + begin, keys[begin + i], i);
    if (slot == kNoSlot) continue;
    auto const place = atomicAdd(&memory.cursors[slot], 1U);
    order[place] = row_ids[begin + i];
    runs[place] = memory.runs[slot];
  }
}

/// Looks up probe rows [first, end) of a partition.
template <class Key>
__device__ void probe_partition(std::uint32_t* heads, PartitionTables const& tables, std::uint32_t partition,
                                Key const* probe_keys, std::uint32_t first, std::uint32_t end, std::uint32_t* firsts,
                                std::uint32_t* counts) {
  auto const begin = tables.starts[partition];
  auto const entries = tables.distinct[partition];
  auto const* const keys = static_cast<Key const*>(tables.keys) + begin;
  for (auto slot = threadIdx.x; slot < kPartitionSlots; slot += kThreads) heads[slot] = kNoRow;
  __syncthreads();
  for (auto e = threadIdx.x; e < entries; e += kThreads) find_slot<true>(heads, keys, keys[e], e);
  __syncthreads();
  for (auto i = first + threadIdx.x; i < end; i += kThreads) {
    auto const slot = find_slot<false>(heads, keys, probe_keys[i], 0);
    auto const entry = begin + (slot == kNoSlot ? 0 : heads[slot]);
    firsts[i] = slot == kNoSlot ? 0 : tables.runs[entry];
    counts[i] = slot == kNoSlot ? 0 : tables.counts[entry];
  }
  __syncthreads();
}

/// A block a stretch of probe rows, of one partition or of several.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    probe_partitions_kernel(PartitionTables tables, Key const* probe_keys, std::uint32_t const* probe_starts,
                            std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts) {
  __shared__ std::uint32_t heads[kPartitionSlots];
  if (blockIdx.x == 0 && threadIdx.x == 0) counts[probe_rows] = 0;
  auto first = blockIdx.x * kProbeChunk;
  auto const end = probe_rows - first < kProbeChunk ? probe_rows : first + kProbeChunk;
  if (first >= end) return;
  auto partition = upper_bound(probe_starts, 0U, (1U << tables.bits) + 1, first) - 1;
  while (first < end) {
    auto const partition_end = probe_starts[partition + 1];
    auto const last = partition_end < end ? partition_end : end;
    if (last > first) probe_partition(heads, tables, partition, probe_keys, first, last, firsts, counts);
    first = last;
    ++partition;
  }
}

__global__ void mark_ordered_rows_kernel(std::uint32_t const* runs, std::uint32_t const* order,
                                         std::uint32_t build_rows, std::uint8_t const* hits, std::uint32_t* words) {
  for (auto i = global_thread(); i < build_rows; i += grid_threads())
    if (hits[runs[i]] != 0) atomicOr(&words[order[i] / 32], 1U << (order[i] % 32));
}

}  // namespace

template <class Key>
cudaError_t group_partition_rows(Launch const& launch, Key const* keys, std::uint32_t const* row_ids,
                                 PartitionTables const& tables, std::uint32_t* order, std::uint32_t* runs) {
  constexpr auto kBytes = 3 * kPartitionSlots * sizeof(std::uint32_t);
  auto* const kernel = group_partition_rows_kernel<Key>;
  auto const status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes));
  if (status != cudaSuccess) return status;
  kernel<<<1U << tables.bits, kThreads, kBytes, launch.stream>>>(keys, row_ids, tables, order, runs);
  return cudaGetLastError();
}

template <class Key>
cudaError_t probe_partitions(Launch const& launch, PartitionTables const& tables, Key const* probe_keys,
                             std::uint32_t const* probe_starts, std::uint32_t probe_rows, std::uint32_t* firsts,
                             std::uint32_t* counts) {
  auto const blocks = probe_rows / kProbeChunk + 1;
  probe_partitions_kernel<<<blocks, kThreads, 0, launch.stream>>>(tables, probe_keys, probe_starts, probe_rows, firsts,
                                                                  counts);
  return cudaGetLastError();
}

cudaError_t mark_ordered_rows(Launch const& launch, std::uint32_t const* runs, std::uint32_t const* order,
                              std::uint32_t build_rows, std::uint8_t const* hits, std::uint32_t* words) {
  mark_ordered_rows_kernel<<<grid_for(build_rows, kThreads, launch.multiprocessors), kThreads, 0, launch.stream>>>(
      runs, order, build_rows, hits, words);
  return cudaGetLastError();
}

#define GARUDA_PARTITION_TABLES(Key)                                                                                 \
  template cudaError_t group_partition_rows(Launch const&, Key const*, std::uint32_t const*, PartitionTables const&, \
                                            std::uint32_t*, std::uint32_t*);                                         \
  template cudaError_t probe_partitions(Launch const&, PartitionTables const&, Key const*, std::uint32_t const*,     \
                                        std::uint32_t, std::uint32_t*, std::uint32_t*)
GARUDA_PARTITION_TABLES(std::uint32_t);
GARUDA_PARTITION_TABLES(std::uint64_t);

}  // namespace garuda::cuda_backend
