#include "cuda_backend/join/resident_join_kernels.hpp"

#include <cub/block/block_scan.cuh>

#include "cuda_backend/hashing.cuh"
#include "cuda_backend/launch.cuh"
#include "cuda_backend/partition.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kProbesEach = 4;  // probe rows of a thread at a time
constexpr unsigned kLoadsEach = 8;   // build keys that a thread has under way
constexpr unsigned kTile = kThreads * kProbesEach;
constexpr unsigned kKeptMatches = kTile;  // matches that a block lists before it writes their rows
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr unsigned kBlocksEach = 2;  // a multiprocessor: registers are shared out for so many
#else
constexpr unsigned kBlocksEach = 3;
#endif
constexpr std::uint32_t kNone = 0xffffU;  // no build row of a task
constexpr std::uint32_t kLowMask = (1U << kSplitBits) - 1;

/// A block keeps this in shared memory. Chains: heads[bucket] is the last row entered, the low half of its entry the
/// one before it. The other bits of an entry are those of the key; the 16 that are missing are the partition's and the
/// lowest ones of the bucket, so that an entry tells its key.
template <class Key>
struct SharedTable {
  Key* entries;
  std::uint32_t* heads;
  std::uint32_t* matches;  ///< build row << 16 | row of the tile
  std::uint32_t bucket_mask;
  std::uint32_t partition_bits;

  __device__ std::uint32_t bucket(Key key) const {
    auto const low = (static_cast<std::uint32_t>(key) & kLowMask) >> partition_bits;
    auto const rest = static_cast<std::uint32_t>(key >> kSplitBits) ^ static_cast<std::uint32_t>(key >> 16 >> 16 >> 16);
    auto const spread = (rest * 0x9e37'79b1U) >> 16;
    return (spread << (kSplitBits - partition_bits) | low) & bucket_mask;
  }
  template <class Visit>
  __device__ void visit_matches(Key key, Visit visit) const {
    for (auto row = heads[bucket(key)]; row != kNone;) {
      auto const entry = entries[row];
      if ((entry ^ key) >> kSplitBits == 0) visit(row);
      row = static_cast<std::uint32_t>(entry) & kLowMask;
    }
  }
  __device__ bool has_match(Key key) const {
    for (auto row = heads[bucket(key)]; row != kNone; row = static_cast<std::uint32_t>(entries[row]) & kLowMask)
      if ((entries[row] ^ key) >> kSplitBits == 0) return true;
    return false;
  }
};

template <class Key>
__device__ SharedTable<Key> shared_table(unsigned char* memory, ResidentJoinPass const& pass) {
  SharedTable<Key> table;
  table.entries = reinterpret_cast<Key*>(memory);
  table.heads = reinterpret_cast<std::uint32_t*>(table.entries + pass.build_chunk);
  table.matches = table.heads + (1U << pass.log2_buckets);
  table.bucket_mask = (1U << pass.log2_buckets) - 1;
  table.partition_bits = pass.partition_bits;
  return table;
}

template <class Key>
__device__ void fill_table(SharedTable<Key> const& table, std::uint32_t rows, Key const* keys) {
  for (auto i = threadIdx.x; i <= table.bucket_mask; i += kThreads) table.heads[i] = kNone;
  __syncthreads();
  for (std::uint32_t first = 0; first < rows; first += kThreads * kLoadsEach) {
    Key loaded[kLoadsEach];
    load_striped<kThreads>(keys, first, rows, loaded);
#pragma unroll
    for (unsigned item = 0; item < kLoadsEach; ++item) {
      auto const row = first + item * kThreads + threadIdx.x;
      if (row >= rows) continue;
      auto const next = atomicExch(&table.heads[table.bucket(loaded[item])], row);
      table.entries[row] = (loaded[item] & ~Key{kLowMask}) | next;
    }
  }
  __syncthreads();
}

/// Copies a column of the listed matches; `first_row`: where their rows are counted from.
template <class Value, bool kOfBuild>
__device__ void write_column(PayloadColumn const& column, std::uint32_t const* matches, std::uint32_t count,
                             std::uint32_t first_row, std::uint64_t first_out) {
  auto const* const source = static_cast<Value const*>(column.source);
  auto* const target = static_cast<Value*>(column.target) + first_out;
  for (auto i = threadIdx.x; i < count; i += kThreads) {
    auto const row = first_row + (kOfBuild ? matches[i] >> 16 : matches[i] & 0xffffU);
    target[i] = source[column.rows == nullptr ? row : column.rows[row]];
  }
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
  load_striped<kThreads>(probe_keys, std::uint32_t{0}, rows, found.keys);
  found.total = 0;
#pragma unroll
  for (unsigned item = 0; item < kProbesEach; ++item) {
    found.counts[item] = 0;
    found.firsts[item] = 0;
    if (item * kThreads + threadIdx.x >= rows) continue;
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
    auto const row = item * kThreads + threadIdx.x;
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
__global__ void __launch_bounds__(kThreads, kBlocksEach) join_tasks_kernel(ResidentJoinPass pass) {
  using Scan = cub::BlockScan<std::uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ typename Scan::TempStorage scan_memory;
  __shared__ std::uint64_t first_out;
  auto const table = shared_table<Key>(shared_memory, pass);
  auto const task = pass.tasks[blockIdx.x];
  fill_table(table, task.build_rows, static_cast<Key const*>(pass.build_keys) + task.build_first);
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
    auto const room = first_out < pass.capacity ? pass.capacity - first_out : 0;
    auto const written = static_cast<std::uint32_t>(total < room ? total : room);
    for (std::uint32_t window = 0; window < written; window += kKeptMatches) {
      list_matches(table, found, position, window);
      __syncthreads();
      auto const out = first_out + window;
      auto const count = written - window < kKeptMatches ? written - window : kKeptMatches;
      auto* const keys_out = static_cast<Key*>(pass.keys_out) + out;
      for (auto i = threadIdx.x; pass.keys_out != nullptr && i < count; i += kThreads) {
        auto const key = probe_keys[table.matches[i] & 0xffffU];
        keys_out[i] = pass.mixed ? unmix(key) : key;
      }
      write_columns<true>(pass.build, table.matches, count, task.build_first, out);
      write_columns<false>(pass.probe, table.matches, count, task.probe_first + tile, out);
      __syncthreads();
    }
  }
}

/// A block a task: sets the bits of the task's probe rows that have a match among its build rows. Rows of a word may be
/// in several tasks.
template <class Key>
__global__ void __launch_bounds__(kThreads, kBlocksEach) mark_tasks_kernel(ResidentJoinPass pass) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto const table = shared_table<Key>(shared_memory, pass);
  auto const task = pass.tasks[blockIdx.x];
  fill_table(table, task.build_rows, static_cast<Key const*>(pass.build_keys) + task.build_first);
  for (auto i = threadIdx.x; i < task.probe_rows; i += kThreads) {
    auto const position = task.probe_first + i;
    if (!table.has_match(static_cast<Key const*>(pass.probe_keys)[position])) continue;
    auto const row = pass.probe_rows[position];
    atomicOr(&pass.marks[row / 32], 1U << (row % 32));
  }
}

}  // namespace

std::uint64_t join_tasks_bytes(std::uint32_t build_chunk, std::uint32_t log2_buckets, std::uint32_t key_bytes) {
  return std::uint64_t{build_chunk} * key_bytes + (std::uint64_t{4} << log2_buckets) + kKeptMatches * 4;
}

Result<void> join_tasks(Lane& lane, ResidentJoinPass const& pass, std::uint32_t key_bytes) {
  auto const bytes = join_tasks_bytes(pass.build_chunk, pass.log2_buckets, key_bytes);
  return with_key(key_bytes, [&]<class Key>(Key) {
    return launch(lane, {pass.num_tasks, kThreads, bytes}, join_tasks_kernel<Key>, pass);
  });
}

Result<void> mark_tasks(Lane& lane, ResidentJoinPass const& pass, std::uint32_t key_bytes) {
  auto const bytes = join_tasks_bytes(pass.build_chunk, pass.log2_buckets, key_bytes);
  return with_key(key_bytes, [&]<class Key>(Key) {
    return launch(lane, {pass.num_tasks, kThreads, bytes}, mark_tasks_kernel<Key>, pass);
  });
}

}  // namespace garuda::cuda_backend
