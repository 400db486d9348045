#include "cuda_backend/resident_kernels.hpp"

#include <cub/block/block_scan.cuh>

#include "cuda_backend/hashing.cuh"

namespace garuda::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWide = 512;      // threads of a block that works in shared memory
constexpr unsigned kProbesEach = 4;  // probe rows of a thread at a time
constexpr unsigned kTile = kWide * kProbesEach;
constexpr unsigned kKeptMatches = kTile;  // matches that a block lists before it writes their rows
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr unsigned kBlocksEach = 2;  // of the join a multiprocessor: registers are shared out for so many
#else
constexpr unsigned kBlocksEach = 3;
#endif
constexpr std::uint32_t kNone = 0xffffU;  // no build row of a task

#define GARUDA_LAUNCH(kernel, items) \
  kernel<<<grid_for(items, kThreads, launch.multiprocessors), kThreads, 0, launch.stream>>>

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

template <class Key>
__global__ void find_partitions_kernel(Key const* keys, std::uint32_t rows, std::uint32_t bits, std::uint32_t* starts) {
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

__device__ std::uint32_t chunks_of(std::uint32_t rows, std::uint32_t chunk) {
  return rows / chunk + (rows % chunk != 0 ? 1 : 0);
}

__device__ std::uint32_t size_of(std::uint32_t const* starts, std::uint64_t partition) {
  return starts[partition + 1] - starts[partition];
}

/// Without a probe side a task is a build chunk.
__global__ void count_tasks_kernel(TaskShape shape, std::uint32_t* counts) {
  for (auto p = global_thread(); p <= shape.partitions; p += grid_threads()) {
    std::uint64_t tasks = 0;
    if (p < shape.partitions) {
      tasks = chunks_of(size_of(shape.build_starts, p), shape.build_chunk);
      if (shape.probe_starts != nullptr) tasks *= chunks_of(size_of(shape.probe_starts, p), shape.probe_chunk);
    }
    counts[p] = tasks < 0xffff'ffffU ? static_cast<std::uint32_t>(tasks) : 0xffff'ffffU;
  }
}

/// A warp a partition.
__global__ void list_tasks_kernel(TaskShape shape, std::uint64_t const* offsets, JoinTask* tasks) {
  auto const lane = threadIdx.x % 32;
  for (auto p = global_thread() / 32; p < shape.partitions; p += grid_threads() / 32) {
    auto const count = offsets[p + 1] - offsets[p];
    if (count == 0) continue;
    auto const build_begin = shape.build_starts[p];
    auto const build_rows = size_of(shape.build_starts, p);
    bool const has_probe = shape.probe_starts != nullptr;
    auto const probe_begin = has_probe ? shape.probe_starts[p] : 0;
    auto const probe_rows = has_probe ? size_of(shape.probe_starts, p) : 0;
    auto const probe_chunks = has_probe ? chunks_of(probe_rows, shape.probe_chunk) : 1;
    for (auto t = std::uint64_t{lane}; t < count; t += 32) {
      auto const build = static_cast<std::uint32_t>(t / probe_chunks) * shape.build_chunk;
      auto const probe = static_cast<std::uint32_t>(t % probe_chunks) * shape.probe_chunk;
      auto const build_left = build_rows - build;
      auto const probe_left = probe_rows - probe;
      tasks[offsets[p] + t] = {build_begin + build, build_left < shape.build_chunk ? build_left : shape.build_chunk,
                               probe_begin + probe,
                               // Of a chunk without a probe side: the chunks of its partition.
                               !has_probe ? static_cast<std::uint32_t>(count)
                                          : (probe_left < shape.probe_chunk ? probe_left : shape.probe_chunk)};
    }
  }
}

/// What a block of the join keeps in shared memory. Chains: heads[bucket] is the last row entered, next[row] the one
/// before it.
template <class Key>
struct SharedTable {
  Key* keys;
  std::uint32_t* heads;
  std::uint32_t* matches;  ///< build row << 16 | row of the tile
  std::uint16_t* next;
  std::uint32_t bucket_mask;
  std::uint32_t key_shift;

  __device__ std::uint32_t bucket(Key key) const {
    // Rows of a partition agree in their low bits; the rest is spread once more, for keys that were not mixed.
    auto const rest = static_cast<std::uint32_t>(key >> key_shift) ^ static_cast<std::uint32_t>(key >> 16 >> 16);
    return (rest * 0x9e37'79b1U) >> 16 & bucket_mask;
  }
  template <class Visit>
  __device__ void visit_matches(Key key, Visit visit) const {
    for (auto row = heads[bucket(key)]; row != kNone; row = next[row])
      if (keys[row] == key) visit(row);
  }
};

template <class Key>
__device__ SharedTable<Key> shared_table(unsigned char* memory, ResidentJoinPass const& pass) {
  SharedTable<Key> table;
  table.keys = reinterpret_cast<Key*>(memory);
  table.heads = reinterpret_cast<std::uint32_t*>(table.keys + pass.build_chunk);
  table.matches = table.heads + (1U << pass.log2_heads);
  table.next = reinterpret_cast<std::uint16_t*>(table.matches + kKeptMatches);
  table.bucket_mask = (1U << pass.log2_heads) - 1;
  table.key_shift = pass.partition_bits;
  return table;
}

template <class Key>
__device__ void fill_table(SharedTable<Key> const& table, JoinTask const& task, Key const* build_keys) {
  for (auto i = threadIdx.x; i <= table.bucket_mask; i += kWide) table.heads[i] = kNone;
  __syncthreads();
  for (auto i = threadIdx.x; i < task.build_rows; i += kWide) {
    auto const key = build_keys[task.build_first + i];
    table.keys[i] = key;
    table.next[i] = static_cast<std::uint16_t>(atomicExch(&table.heads[table.bucket(key)], i));
  }
  __syncthreads();
}

/// Copies a column of the listed matches.
template <class Value, bool kOfBuild>
__device__ void write_column(PayloadColumn const& column, std::uint32_t const* matches, std::uint32_t count,
                             std::uint32_t first_row, std::uint64_t first_out) {
  auto const* const source = static_cast<Value const*>(column.source) + first_row;
  auto* const target = static_cast<Value*>(column.target) + first_out;
  for (auto i = threadIdx.x; i < count; i += kWide)
    target[i] = source[kOfBuild ? matches[i] >> 16 : matches[i] & 0xffffU];
}

template <bool kOfBuild>
__device__ void write_columns(PayloadColumns const& columns, std::uint32_t const* matches, std::uint32_t count,
                              std::uint32_t first_row, std::uint64_t first_out) {
  for (std::uint32_t c = 0; c < columns.count; ++c) {
    if (columns.columns[c].bytes == 4) {
      write_column<std::uint32_t, kOfBuild>(columns.columns[c], matches, count, first_row, first_out);
    } else {
      write_column<std::uint64_t, kOfBuild>(columns.columns[c], matches, count, first_row, first_out);
    }
  }
}

/// Matches of a thread's probe rows.
template <class Key>
struct ThreadMatches {
  Key keys[kProbesEach];
  std::uint32_t firsts[kProbesEach];
  std::uint32_t counts[kProbesEach];
  std::uint32_t total;
};

template <class Key>
__device__ ThreadMatches<Key> count_matches(SharedTable<Key> const& table, Key const* probe_keys, std::uint32_t rows) {
  ThreadMatches<Key> found;
  found.total = 0;
#pragma unroll
  for (unsigned item = 0; item < kProbesEach; ++item) {
    auto const row = item * kWide + threadIdx.x;
    found.counts[item] = 0;
    found.firsts[item] = 0;
    if (row >= rows) continue;
    found.keys[item] = probe_keys[row];
    table.visit_matches(found.keys[item], [&](std::uint32_t build) {
      found.firsts[item] = build;
      ++found.counts[item];
    });
    found.total += found.counts[item];
  }
  return found;
}

/// Lists the matches [window, window + kKeptMatches) of the tile; the thread's begin at `position`.
template <class Key>
__device__ void list_matches(SharedTable<Key> const& table, ThreadMatches<Key> const& found, std::uint32_t position,
                             std::uint32_t window) {
#pragma unroll
  for (unsigned item = 0; item < kProbesEach; ++item) {
    auto const count = found.counts[item];
    auto const row = item * kWide + threadIdx.x;
    auto const end = window + kKeptMatches;
    if (count == 1 && position >= window && position < end) {
      table.matches[position - window] = found.firsts[item] << 16 | row;
    } else if (count > 1 && position < end && position + count > window) {
      auto match = position;
      table.visit_matches(found.keys[item], [&](std::uint32_t build) {
        if (match >= window && match < end) table.matches[match - window] = build << 16 | row;
        ++match;
      });
    }
    position += count;
  }
}

/// A block a task. Rows go to places taken from one cursor; those beyond the capacity are only counted.
template <class Key>
__global__ void __launch_bounds__(kWide, kBlocksEach) join_tasks_kernel(ResidentJoinPass pass) {
  using Scan = cub::BlockScan<std::uint32_t, kWide>;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ typename Scan::TempStorage scan_memory;
  __shared__ std::uint64_t first_out;
  auto const table = shared_table<Key>(shared_memory, pass);
  auto const task = pass.tasks[blockIdx.x];
  fill_table(table, task, static_cast<Key const*>(pass.build_keys));
  for (std::uint32_t tile = 0; tile < task.probe_rows; tile += kTile) {
    auto const* const probe_keys = static_cast<Key const*>(pass.probe_keys) + task.probe_first + tile;
    auto const left = task.probe_rows - tile;
    auto const found = count_matches(table, probe_keys, left < kTile ? left : kTile);
    // At most kTile rows with all rows of a chunk each: below 2^27.
    std::uint32_t position = 0;
    std::uint32_t total = 0;
    Scan(scan_memory).ExclusiveSum(found.total, position, total);
    if (threadIdx.x == 0 && total > 0)
      first_out = atomicAdd(reinterpret_cast<unsigned long long*>(pass.cursor), static_cast<unsigned long long>(total));
    __syncthreads();
    for (std::uint32_t window = 0; window < total; window += kKeptMatches) {
      list_matches(table, found, position, window);
      __syncthreads();
      auto const out = first_out + window;
      auto const here = total - window < kKeptMatches ? total - window : kKeptMatches;
      auto const room = out < pass.capacity ? pass.capacity - out : 0;
      auto const count = static_cast<std::uint32_t>(here < room ? here : room);
      auto* const keys_out = static_cast<Key*>(pass.keys_out) + out;
      for (auto i = threadIdx.x; i < count; i += kWide) {
        auto const key = table.keys[table.matches[i] >> 16];
        keys_out[i] = pass.mixed ? unmix(key) : key;
      }
      write_columns<true>(pass.build, table.matches, count, task.build_first, out);
      write_columns<false>(pass.probe, table.matches, count, task.probe_first + tile, out);
      __syncthreads();
    }
  }
}

constexpr std::uint32_t kFree = 0xffff'ffffU;  // a slot without a key; the key that is spelled so has one of its own
constexpr std::uint32_t kLog2SharedSlots = 12;
constexpr std::uint32_t kSharedSlots = 1U << kLog2SharedSlots;
constexpr std::uint32_t kSharedSteps = 64;  // of a probe before its row goes to the table in device memory
constexpr std::uint32_t kTableSteps = 4096;

using Word = unsigned long long;

__device__ void add_to_table(SumTable const& table, std::uint32_t key, std::int64_t sum) {
  auto slot = 1U << table.log2_slots;
  if (key == kFree) {
    *table.used = 1;
  } else {
    auto const mask = slot - 1;
    slot = mix(key) & mask;
    for (std::uint32_t step = 0;; ++step) {
      auto present = *static_cast<std::uint32_t volatile*>(&table.keys[slot]);
      if (present == kFree) present = atomicCAS(&table.keys[slot], kFree, key);
      if (present == kFree || present == key) break;
      if (step == kTableSteps || step == mask) {
        *table.overflow = 1;
        return;
      }
      slot = (slot + 1) & mask;
    }
  }
  atomicAdd(reinterpret_cast<Word*>(&table.sums[slot]), static_cast<Word>(sum));
}

/// Sums of a block: 64 bits as two words, because shared memory adds 32 bits at a time.
struct SharedSums {
  std::uint32_t* keys;
  std::uint32_t* low;
  std::uint32_t* high;

  /// The slot of a key; kFree when it lies too far from its home.
  __device__ std::uint32_t find(std::uint32_t key) const {
    if (key == kFree) return kSharedSlots;
    auto slot = mix(key) >> (32 - kLog2SharedSlots);
    for (std::uint32_t step = 0; step < kSharedSteps; ++step) {
      auto present = *static_cast<std::uint32_t volatile*>(&keys[slot]);
      if (present == kFree) present = atomicCAS(&keys[slot], kFree, key);
      if (present == kFree || present == key) return slot;
      slot = (slot + 1) & (kSharedSlots - 1);
    }
    return kFree;
  }
  __device__ void add(std::uint32_t slot, std::int32_t value) const {
    auto const word = static_cast<std::uint32_t>(value);
    auto const before = atomicAdd(&low[slot], word);
    auto const carried = (value < 0 ? 0xffff'ffffU : 0U) + (before + word < before ? 1U : 0U);
    if (carried != 0) atomicAdd(&high[slot], carried);
  }
  __device__ std::int64_t sum(std::uint32_t slot) const {
    return static_cast<std::int64_t>(std::uint64_t{high[slot]} << 32 | low[slot]);
  }
};

__device__ std::uint32_t original(ResidentGroupPass const& pass, std::uint32_t key) {
  return pass.mixed ? unmix(key) : key;
}

/// A block a chunk.
__global__ void __launch_bounds__(kWide) aggregate_chunks_kernel(ResidentGroupPass pass) {
  using Scan = cub::BlockScan<std::uint32_t, kWide>;
  extern __shared__ std::uint32_t shared_sums[];
  __shared__ typename Scan::TempStorage scan_memory;
  __shared__ std::uint64_t first_out;
  __shared__ std::uint32_t spilled;
  __shared__ std::uint32_t has_free_key;
  SharedSums const sums{shared_sums, shared_sums + kSharedSlots, shared_sums + 2 * kSharedSlots + 1};
  auto const task = pass.tasks[blockIdx.x];
  if (threadIdx.x == 0) spilled = has_free_key = 0;
  for (auto i = threadIdx.x; i < kSharedSlots; i += kWide) sums.keys[i] = kFree;
  for (auto i = threadIdx.x; i <= kSharedSlots; i += kWide) sums.low[i] = sums.high[i] = 0;
  __syncthreads();
  for (auto i = threadIdx.x; i < task.build_rows; i += kWide) {
    auto const key = pass.keys[task.build_first + i];
    auto const value = pass.values[task.build_first + i];
    auto const slot = sums.find(key);
    if (slot == kFree) {
      add_to_table(pass.table, key, value);
      spilled = 1;
    } else {
      if (slot == kSharedSlots) has_free_key = 1;
      sums.add(slot, value);
    }
  }
  __syncthreads();
  auto const is_used = [&](std::uint32_t slot) {
    return slot < kSharedSlots ? sums.keys[slot] != kFree : slot == kSharedSlots && has_free_key != 0;
  };
  auto const key_of = [&](std::uint32_t slot) { return slot < kSharedSlots ? sums.keys[slot] : kFree; };
  bool const is_final = task.probe_rows == 1 && spilled == 0;
  if (!is_final) {
    for (auto slot = threadIdx.x; slot <= kSharedSlots; slot += kWide)
      if (is_used(slot)) add_to_table(pass.table, key_of(slot), sums.sum(slot));
    return;
  }
  std::uint32_t groups = 0;
  for (auto slot = threadIdx.x; slot <= kSharedSlots; slot += kWide) groups += is_used(slot) ? 1 : 0;
  std::uint32_t position = 0;
  std::uint32_t total = 0;
  Scan(scan_memory).ExclusiveSum(groups, position, total);
  if (threadIdx.x == 0) first_out = atomicAdd(reinterpret_cast<Word*>(pass.cursor), static_cast<Word>(total));
  __syncthreads();
  auto out = first_out + position;
  for (auto slot = threadIdx.x; slot <= kSharedSlots; slot += kWide) {
    if (!is_used(slot)) continue;
    if (out < pass.capacity) {
      pass.keys_out[out] = original(pass, key_of(slot));
      pass.sums_out[out] = sums.sum(slot);
    }
    ++out;
  }
}

__global__ void write_groups_kernel(ResidentGroupPass pass) {
  auto const slots = std::uint64_t{1} << pass.table.log2_slots;
  auto const lane = threadIdx.x % 32;
  for (auto base = global_thread() - lane; base <= slots; base += grid_threads()) {
    auto const slot = base + lane;
    bool const used = slot < slots ? pass.table.keys[slot] != kFree : slot == slots && *pass.table.used != 0;
    auto const lanes = __ballot_sync(0xffff'ffffU, used);
    if (lanes == 0) continue;
    std::uint64_t first = 0;
    if (lane == 0) first = atomicAdd(reinterpret_cast<Word*>(pass.cursor), static_cast<Word>(__popc(lanes)));
    first = __shfl_sync(0xffff'ffffU, first, 0);
    auto const out = first + static_cast<unsigned>(__popc(lanes & ((1U << lane) - 1)));
    if (!used || out >= pass.capacity) continue;
    pass.keys_out[out] = original(pass, slot < slots ? pass.table.keys[slot] : kFree);
    pass.sums_out[out] = static_cast<std::int64_t>(pass.table.sums[slot]);
  }
}

/// Lets a kernel have more shared memory than every device grants unasked.
template <class Kernel>
cudaError_t allow_shared(Kernel* kernel, std::uint64_t bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace

template <class Key>
cudaError_t sample_digits(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t* bins) {
  sample_digits_kernel<<<1, 1024, 0, launch.stream>>>(keys, rows, bins);
  return cudaGetLastError();
}

template <class Key>
cudaError_t find_partitions(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits,
                            std::uint32_t* starts) {
  GARUDA_LAUNCH(find_partitions_kernel, (1ULL << bits) + 1)(keys, rows, bits, starts);
  return cudaGetLastError();
}

cudaError_t count_tasks(Launch const& launch, TaskShape const& shape, std::uint32_t* counts) {
  GARUDA_LAUNCH(count_tasks_kernel, shape.partitions + 1ULL)(shape, counts);
  return cudaGetLastError();
}

cudaError_t list_tasks(Launch const& launch, TaskShape const& shape, std::uint64_t const* offsets, JoinTask* tasks) {
  GARUDA_LAUNCH(list_tasks_kernel, shape.partitions * 32ULL)(shape, offsets, tasks);
  return cudaGetLastError();
}

std::uint64_t join_tasks_bytes(std::uint32_t build_chunk, std::uint32_t log2_heads, std::uint32_t key_bytes) {
  return std::uint64_t{build_chunk} * (key_bytes + 2) + (std::uint64_t{4} << log2_heads) + kKeptMatches * 4;
}

template <class Key>
cudaError_t join_tasks(Launch const& launch, ResidentJoinPass const& pass) {
  auto const bytes = join_tasks_bytes(pass.build_chunk, pass.log2_heads, sizeof(Key));
  auto* const kernel = join_tasks_kernel<Key>;
  if (auto const status = allow_shared(kernel, bytes); status != cudaSuccess) return status;
  kernel<<<pass.num_tasks, kWide, bytes, launch.stream>>>(pass);
  return cudaGetLastError();
}

cudaError_t aggregate_chunks(Launch const& launch, ResidentGroupPass const& pass) {
  constexpr std::uint64_t kBytes = (3 * kSharedSlots + 2) * sizeof(std::uint32_t);
  if (auto const status = allow_shared(aggregate_chunks_kernel, kBytes); status != cudaSuccess) return status;
  aggregate_chunks_kernel<<<pass.num_tasks, kWide, kBytes, launch.stream>>>(pass);
  return cudaGetLastError();
}

cudaError_t write_groups(Launch const& launch, ResidentGroupPass const& pass) {
  GARUDA_LAUNCH(write_groups_kernel, (1ULL << pass.table.log2_slots) + 1)(pass);
  return cudaGetLastError();
}

#define GARUDA_RESIDENT_KERNELS(Key)                                                                             \
  template cudaError_t sample_digits(Launch const&, Key const*, std::uint32_t, std::uint32_t*);                  \
  template cudaError_t find_partitions(Launch const&, Key const*, std::uint32_t, std::uint32_t, std::uint32_t*); \
  template cudaError_t join_tasks<Key>(Launch const&, ResidentJoinPass const&)
GARUDA_RESIDENT_KERNELS(std::uint32_t);
GARUDA_RESIDENT_KERNELS(std::uint64_t);

}  // namespace garuda::cuda
