#include "cuda_backend/join_kernels.hpp"

#include "cuda_backend/hashing.cuh"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kPairsEach = 4;  // of a thread of write_pairs
constexpr unsigned kPairsOfBlock = kThreads * kPairsEach;

template <class Key>
__device__ std::uint32_t home_slot(Key mixed, std::uint32_t log2_slots) {
  return static_cast<std::uint32_t>(mixed >> (8 * sizeof(Key) - log2_slots));
}

template <class Key>
__global__ void mix_keys_kernel(Key const* keys, std::uint32_t rows, Key* mixed, std::uint32_t* row_ids) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    mixed[i] = mix(keys[i]);
    if (row_ids != nullptr) row_ids[i] = static_cast<std::uint32_t>(i);
  }
}

/// A head changes once, from kNoRow to a row, so a value read is good or kNoRow.
__device__ std::uint32_t read_head(std::uint32_t const* head) {
  return *static_cast<std::uint32_t const volatile*>(head);
}

/// All lanes of a warp walk the rows together, so that equal keys of a warp take one addition to their slot's count.
template <class Key>
__global__ void insert_rows_kernel(Key const* keys, std::uint32_t rows, JoinTable table, std::uint32_t* slots,
                                   std::uint32_t* ranks) {
  auto const slot_mask = (1U << table.log2_slots) - 1;
  auto const lane = threadIdx.x % 32;
  for (auto base = global_thread() - lane; base < rows; base += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(base) + lane;
    bool const valid = row < rows;
    auto const valid_lanes = __ballot_sync(0xffff'ffffU, valid);
    if (!valid) continue;
    auto const key = keys[row];
    auto slot = home_slot(key, table.log2_slots);
    while (true) {
      auto head = read_head(&table.heads[slot]);
      if (head == kNoRow) head = atomicCAS(&table.heads[slot], kNoRow, row);
      if (head == kNoRow || keys[head] == key) break;
      slot = (slot + 1) & slot_mask;
    }
    __syncwarp(valid_lanes);
    auto const peers = __match_any_sync(valid_lanes, slot);
    auto const leader = __ffs(static_cast<int>(peers)) - 1;
    std::uint32_t rank = 0;
    if (static_cast<int>(lane) == leader)
      rank = atomicAdd(&table.counts[slot], static_cast<std::uint32_t>(__popc(peers)));
    rank = __shfl_sync(peers, rank, leader);
    slots[row] = slot;
    ranks[row] = rank + static_cast<std::uint32_t>(__popc(peers & ((1U << lane) - 1)));
  }
}

__global__ void place_rows_kernel(std::uint32_t const* starts, std::uint32_t const* slots, std::uint32_t const* ranks,
                                  std::uint32_t const* row_ids, std::uint32_t rows, std::uint32_t* order) {
  for (auto i = global_thread(); i < rows; i += grid_threads())
    order[starts[slots[i]] + ranks[i]] = row_ids == nullptr ? static_cast<std::uint32_t>(i) : row_ids[i];
}

template <class Key>
__global__ void probe_table_kernel(Key const* build_keys, JoinTable table, Key const* probe_keys,
                                   std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts) {
  auto const slot_mask = (1U << table.log2_slots) - 1;
  for (auto i = global_thread(); i <= probe_rows; i += grid_threads()) {
    if (i == probe_rows) {
      counts[i] = 0;
      continue;
    }
    auto const key = probe_keys[i];
    auto slot = home_slot(key, table.log2_slots);
    auto head = table.heads[slot];
    while (head != kNoRow && build_keys[head] != key) {
      slot = (slot + 1) & slot_mask;
      head = table.heads[slot];
    }
    firsts[i] = head == kNoRow ? 0 : table.starts[slot];
    counts[i] = head == kNoRow ? 0 : table.counts[slot];
  }
}

template <class Key>
__global__ void probe_sorted_kernel(Key const* build_keys, std::uint32_t build_rows, Key const* probe_keys,
                                    std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts) {
  for (auto i = global_thread(); i <= probe_rows; i += grid_threads()) {
    if (i == probe_rows) {
      counts[i] = 0;
      continue;
    }
    auto const first = lower_bound(build_keys, 0U, build_rows, probe_keys[i]);
    firsts[i] = first;
    counts[i] = upper_bound(build_keys, first, build_rows, probe_keys[i]) - first;
  }
}

/// Hands each of the block's pairs, as its place and its rows, to `take`. They come from consecutive probe rows, found
/// once a block.
template <class Take>
__device__ void visit_pairs(MatchList const& matches, std::uint64_t first, std::uint64_t count, Take take) {
  __shared__ std::uint32_t bounds[2];
  auto const begin = std::uint64_t{blockIdx.x} * kPairsOfBlock;
  auto const end = begin + kPairsOfBlock < count ? begin + kPairsOfBlock : count;
  if (threadIdx.x < 2) {
    auto const pair = first + (threadIdx.x == 0 ? begin : end - 1);
    bounds[threadIdx.x] = upper_bound(matches.offsets, 0U, matches.probe_rows, pair) - 1;
  }
  __syncthreads();
  for (auto i = begin + threadIdx.x; i < end; i += kThreads) {
    auto const pair = first + i;
    auto const probe = upper_bound(matches.offsets, bounds[0], bounds[1] + 1, pair) - 1;
    auto const match = static_cast<std::uint32_t>(pair - matches.offsets[probe]);
    take(i, matches.build_order[matches.firsts[probe] + match],
         matches.probe_order == nullptr ? probe : matches.probe_order[probe]);
  }
}

__global__ void write_pairs_kernel(MatchList matches, std::uint64_t first, std::uint64_t count,
                                   GarudaCudaRowPair* pairs) {
  visit_pairs(matches, first, count, [&](std::uint64_t i, std::uint32_t build_row, std::uint32_t probe_row) {
    pairs[i] =
        matches.build_is_left ? GarudaCudaRowPair{build_row, probe_row} : GarudaCudaRowPair{probe_row, build_row};
  });
}

__global__ void write_pair_rows_kernel(MatchList matches, std::uint64_t first, std::uint64_t count,
                                       std::uint32_t* build_rows, std::uint32_t* probe_rows) {
  visit_pairs(matches, first, count, [&](std::uint64_t i, std::uint32_t build_row, std::uint32_t probe_row) {
    build_rows[i] = build_row;
    probe_rows[i] = probe_row;
  });
}

template <class Value>
__global__ void gather_kernel(Value const* source, std::uint32_t const* rows, std::uint64_t count, Value* target) {
  for (auto i = global_thread(); i < count; i += grid_threads()) target[i] = source[rows[i]];
}

__device__ void set_bit(std::uint32_t* words, std::uint32_t row) { atomicOr(&words[row / 32], 1U << (row % 32)); }

__global__ void mark_probe_rows_kernel(std::uint32_t const* counts, std::uint32_t const* probe_order,
                                       std::uint32_t probe_rows, std::uint32_t* words) {
  for (auto i = global_thread(); i < probe_rows; i += grid_threads())
    if (counts[i] > 0) set_bit(words, probe_order == nullptr ? static_cast<std::uint32_t>(i) : probe_order[i]);
}

__global__ void mark_runs_kernel(std::uint32_t const* firsts, std::uint32_t const* counts, std::uint32_t probe_rows,
                                 std::uint8_t* hits) {
  for (auto i = global_thread(); i < probe_rows; i += grid_threads())
    if (counts[i] > 0) hits[firsts[i]] = 1;
}

__global__ void mark_build_rows_kernel(std::uint32_t const* starts, std::uint32_t const* slots,
                                       std::uint32_t const* row_ids, std::uint32_t build_rows, std::uint8_t const* hits,
                                       std::uint32_t* words) {
  for (auto i = global_thread(); i < build_rows; i += grid_threads())
    if (hits[starts[slots[i]]] != 0) set_bit(words, row_ids == nullptr ? static_cast<std::uint32_t>(i) : row_ids[i]);
}

template <class Key>
__global__ void mark_sorted_rows_kernel(Key const* build_keys, std::uint32_t const* row_ids, std::uint32_t build_rows,
                                        std::uint8_t const* hits, std::uint32_t* words) {
  for (auto i = global_thread(); i < build_rows; i += grid_threads())
    if (hits[lower_bound(build_keys, 0U, static_cast<std::uint32_t>(i), build_keys[i])] != 0)
      set_bit(words, row_ids[i]);
}

}  // namespace

#define GARUDA_LAUNCH(kernel, items) \
  kernel<<<grid_for(items, kThreads, launch.multiprocessors), kThreads, 0, launch.stream>>>

template <class Key>
cudaError_t mix_keys(Launch const& launch, Key const* keys, std::uint32_t rows, Key* mixed, std::uint32_t* row_ids) {
  GARUDA_LAUNCH(mix_keys_kernel, rows)(keys, rows, mixed, row_ids);
  return cudaGetLastError();
}

template <class Key>
cudaError_t insert_rows(Launch const& launch, Key const* keys, std::uint32_t rows, JoinTable const& table,
                        std::uint32_t* slots, std::uint32_t* ranks) {
  GARUDA_LAUNCH(insert_rows_kernel, rows)(keys, rows, table, slots, ranks);
  return cudaGetLastError();
}

cudaError_t place_rows(Launch const& launch, JoinTable const& table, std::uint32_t const* slots,
                       std::uint32_t const* ranks, std::uint32_t const* row_ids, std::uint32_t rows,
                       std::uint32_t* order) {
  GARUDA_LAUNCH(place_rows_kernel, rows)(table.starts, slots, ranks, row_ids, rows, order);
  return cudaGetLastError();
}

template <class Key>
cudaError_t probe_table(Launch const& launch, Key const* build_keys, JoinTable const& table, Key const* probe_keys,
                        std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts) {
  GARUDA_LAUNCH(probe_table_kernel, probe_rows + 1ULL)(build_keys, table, probe_keys, probe_rows, firsts, counts);
  return cudaGetLastError();
}

template <class Key>
cudaError_t probe_sorted(Launch const& launch, Key const* build_keys, std::uint32_t build_rows, Key const* probe_keys,
                         std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts) {
  GARUDA_LAUNCH(probe_sorted_kernel, probe_rows + 1ULL)
  (build_keys, build_rows, probe_keys, probe_rows, firsts, counts);
  return cudaGetLastError();
}

cudaError_t write_pairs(Launch const& launch, MatchList const& matches, std::uint64_t first, std::uint64_t count,
                        GarudaCudaRowPair* pairs) {
  auto const blocks = static_cast<unsigned>((count + kPairsOfBlock - 1) / kPairsOfBlock);
  write_pairs_kernel<<<blocks, kThreads, 0, launch.stream>>>(matches, first, count, pairs);
  return cudaGetLastError();
}

cudaError_t write_pair_rows(Launch const& launch, MatchList const& matches, std::uint64_t first, std::uint64_t count,
                            std::uint32_t* build_rows, std::uint32_t* probe_rows) {
  auto const blocks = static_cast<unsigned>((count + kPairsOfBlock - 1) / kPairsOfBlock);
  write_pair_rows_kernel<<<blocks, kThreads, 0, launch.stream>>>(matches, first, count, build_rows, probe_rows);
  return cudaGetLastError();
}

template <class Value>
cudaError_t gather(Launch const& launch, Value const* source, std::uint32_t const* rows, std::uint64_t count,
                   Value* target) {
  GARUDA_LAUNCH(gather_kernel, count)(source, rows, count, target);
  return cudaGetLastError();
}

cudaError_t mark_probe_rows(Launch const& launch, std::uint32_t const* counts, std::uint32_t const* probe_order,
                            std::uint32_t probe_rows, std::uint32_t* words) {
  GARUDA_LAUNCH(mark_probe_rows_kernel, probe_rows)(counts, probe_order, probe_rows, words);
  return cudaGetLastError();
}

cudaError_t mark_runs(Launch const& launch, std::uint32_t const* firsts, std::uint32_t const* counts,
                      std::uint32_t probe_rows, std::uint8_t* hits) {
  GARUDA_LAUNCH(mark_runs_kernel, probe_rows)(firsts, counts, probe_rows, hits);
  return cudaGetLastError();
}

cudaError_t mark_build_rows(Launch const& launch, JoinTable const& table, std::uint32_t const* slots,
                            std::uint32_t const* row_ids, std::uint32_t build_rows, std::uint8_t const* hits,
                            std::uint32_t* words) {
  GARUDA_LAUNCH(mark_build_rows_kernel, build_rows)(table.starts, slots, row_ids, build_rows, hits, words);
  return cudaGetLastError();
}

template <class Key>
cudaError_t mark_sorted_rows(Launch const& launch, Key const* build_keys, std::uint32_t const* row_ids,
                             std::uint32_t build_rows, std::uint8_t const* hits, std::uint32_t* words) {
  GARUDA_LAUNCH(mark_sorted_rows_kernel, build_rows)(build_keys, row_ids, build_rows, hits, words);
  return cudaGetLastError();
}

#define GARUDA_JOIN_KERNELS(Key)                                                                               \
  template cudaError_t mix_keys(Launch const&, Key const*, std::uint32_t, Key*, std::uint32_t*);               \
  template cudaError_t insert_rows(Launch const&, Key const*, std::uint32_t, JoinTable const&, std::uint32_t*, \
                                   std::uint32_t*);                                                            \
  template cudaError_t probe_table(Launch const&, Key const*, JoinTable const&, Key const*, std::uint32_t,     \
                                   std::uint32_t*, std::uint32_t*);                                            \
  template cudaError_t probe_sorted(Launch const&, Key const*, std::uint32_t, Key const*, std::uint32_t,       \
                                    std::uint32_t*, std::uint32_t*);                                           \
  template cudaError_t gather(Launch const&, Key const*, std::uint32_t const*, std::uint64_t, Key*);           \
  template cudaError_t mark_sorted_rows(Launch const&, Key const*, std::uint32_t const*, std::uint32_t,        \
                                        std::uint8_t const*, std::uint32_t*)
GARUDA_JOIN_KERNELS(std::uint32_t);
GARUDA_JOIN_KERNELS(std::uint64_t);

}  // namespace garuda::cuda_backend
