#include "cuda_backend/join/matches.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cuda_backend/hashing.cuh"
#include "cuda_backend/launch.cuh"
#include "cuda_backend/partition.hpp"
#include "cuda_backend/primitives.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kPairsEach = 4;  // of a thread of write_pairs_kernel
constexpr unsigned kPairsOfBlock = kThreads * kPairsEach;

template <class Key>
__device__ std::uint32_t home_slot(Key mixed, std::uint32_t log2_slots) {
  return static_cast<std::uint32_t>(mixed >> (8 * sizeof(Key) - log2_slots));
}

/// A head changes once, from kNoRow to a row, so a value read is good or kNoRow.
__device__ std::uint32_t read_head(std::uint32_t const* head) {
  return *static_cast<std::uint32_t const volatile*>(head);
}

/// Enters rows: the slot of each, and its rank among the rows of its key. All lanes of a warp walk the rows together,
/// so that equal keys of a warp take one addition to their slot's count.
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

/// Writes row ids (null: positions) in the order of slots, rows of a key side by side.
__global__ void place_rows_kernel(std::uint32_t const* starts, std::uint32_t const* slots, std::uint32_t const* ranks,
                                  std::uint32_t const* row_ids, std::uint32_t rows, std::uint32_t* order) {
  for (auto i = global_thread(); i < rows; i += grid_threads())
    order[starts[slots[i]] + ranks[i]] = row_ids == nullptr ? static_cast<std::uint32_t>(i) : row_ids[i];
}

/// Finds the matches of each probe row: `counts` of them from `firsts` on in the build order; counts[probe_rows] = 0.
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

/// The same in a build side that is sorted by key; the build order is then that of the keys.
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

/// What pairs are made from. offsets: probe_rows + 1, the first pair of each probe row.
struct MatchList {
  std::uint64_t const* offsets;
  std::uint32_t const* firsts;
  std::uint32_t const* build_order;
  std::uint32_t const* probe_order;  ///< null: positions
  std::uint32_t probe_rows;
};

/// A block writes the rows of kPairsOfBlock pairs of [first, first + count). They come from consecutive probe rows,
/// found once a block.
__global__ void write_pairs_kernel(MatchList matches, std::uint64_t first, std::uint64_t count, PairRows out) {
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
    out.build[i * out.stride] = matches.build_order[matches.firsts[probe] + match];
    out.probe[i * out.stride] = matches.probe_order == nullptr ? probe : matches.probe_order[probe];
  }
}

/// Sets the bit of the row at a position, of ids where there are any.
__device__ void set_bit(std::uint32_t* words, std::uint32_t const* row_ids, std::uint64_t position) {
  auto const row = row_ids == nullptr ? static_cast<std::uint32_t>(position) : row_ids[position];
  atomicOr(&words[row / 32], 1U << (row % 32));
}

__global__ void mark_probe_rows_kernel(std::uint32_t const* counts, std::uint32_t const* row_ids, std::uint32_t rows,
                                       std::uint32_t* words) {
  for (auto i = global_thread(); i < rows; i += grid_threads())
    if (counts[i] > 0) set_bit(words, row_ids, i);
}

/// Sets hits[first] of every run that a probe row found. `hits`: build rows, cleared before.
__global__ void mark_runs_kernel(std::uint32_t const* firsts, std::uint32_t const* counts, std::uint32_t probe_rows,
                                 std::uint8_t* hits) {
  for (auto i = global_thread(); i < probe_rows; i += grid_threads())
    if (counts[i] > 0) hits[firsts[i]] = 1;
}

/// Where the run of a build row begins: that of its slot,
struct SlotRuns {
  std::uint32_t const* starts;
  std::uint32_t const* slots;
  __device__ std::uint32_t of(std::uint32_t position) const { return starts[slots[position]]; }
};
/// or that of its key among sorted ones.
template <class Key>
struct SortedRuns {
  Key const* keys;
  __device__ std::uint32_t of(std::uint32_t position) const { return lower_bound(keys, 0U, position, keys[position]); }
};
/// Sets the bits of build rows whose run was hit.
template <class Runs>
__global__ void mark_build_rows_kernel(Runs runs, std::uint32_t const* row_ids, std::uint32_t rows,
                                       std::uint8_t const* hits, std::uint32_t* words) {
  for (auto i = global_thread(); i < rows; i += grid_threads())
    if (hits[runs.of(static_cast<std::uint32_t>(i))] != 0) set_bit(words, row_ids, i);
}

/// Share of the L2 cache that a table may take without partitioning.
constexpr std::uint64_t kCacheShare = 2;
constexpr std::uint64_t kSlotBytes = 12;
/// Build rows of a partition, where a pass makes as many: few enough that those of the rows that are looked up at a
/// time share the second-level cache.
constexpr std::uint64_t kPartitionRows = 2048;

}  // namespace

GarudaCudaJoinMethod chosen_join_method(std::uint32_t asked, Lane const& lane, std::uint32_t build_rows,
                                        std::uint32_t key_bytes) {
  if (asked != GARUDA_CUDA_JOIN_AUTOMATIC) return static_cast<GarudaCudaJoinMethod>(asked);
  auto const bytes =
      (kSlotBytes << log2_at_least(2 * std::uint64_t{build_rows})) + std::uint64_t{build_rows} * key_bytes;
  auto const fits = bytes <= lane.device().traits().l2_bytes / kCacheShare;
  return fits ? GARUDA_CUDA_JOIN_TABLE : GARUDA_CUDA_JOIN_PARTITIONED;
}

Matches::Matches(Lane& lane, GarudaCudaJoinMethod method, std::uint32_t key_bytes, std::uint32_t build_rows,
                 std::uint32_t probe_rows)
    : lane_(lane), method_(method), key_bytes_(key_bytes) {
  build_.rows = build_rows;
  probe_.rows = probe_rows;
  auto const parts = (std::uint64_t{build_rows} + kPartitionRows - 1) / kPartitionRows;
  bits_ = std::min(log2_at_least(parts), kMostPassBits);
}

Result<void> Matches::add_build(std::uint64_t keys) {
  GARUDA_TRY(take(build_, keys));
  return method_ == GARUDA_CUDA_JOIN_MERGE ? Result<void>{} : build_table();
}

Result<void> Matches::add_probe(std::uint64_t keys) {
  GARUDA_TRY(take(probe_, keys));
  GARUDA_TRY(find());
  return scan();
}

/// Mixed keys in the order that the method wants: partitions by the leading bits, which are those of a table's slots.
Result<void> Matches::take(Side& side, std::uint64_t keys) const {
  GARUDA_TRY(lane_.step("partition", 2 * std::uint64_t{side.rows} * key_bytes_, side.rows));
  GarudaCudaColumn const column{keys, key_bytes_};
  PartitionedSide ordered;
  if (method_ == GARUDA_CUDA_JOIN_PARTITIONED) {
    PartitionShape const shape{bits_, true, true};
    GARUDA_TRY_ASSIGN(ordered, partition(lane_, column, side.rows, std::span(&kRowNumbers, 1), shape));
  } else {
    GARUDA_TRY_ASSIGN(ordered.keys, mix_keys(lane_, column, side.rows));
  }
  if (method_ == GARUDA_CUDA_JOIN_MERGE) {
    GARUDA_TRY_ASSIGN(ordered,
                      sort_by_key(lane_, {ordered.keys.address(), key_bytes_}, side.rows, kRowNumbers, 8 * key_bytes_));
  }
  side.keys = std::move(ordered.keys);
  if (!ordered.columns.empty()) side.row_ids = std::move(ordered.columns[0]);
  return {};
}

Result<void> Matches::build_table() {
  GARUDA_TRY(lane_.step("build", build_.rows * (key_bytes_ + kSlotBytes), build_.rows));
  table_.log2_slots = log2_at_least(2 * std::uint64_t{build_.rows});
  auto const slots = std::uint64_t{1} << table_.log2_slots;
  GARUDA_TRY_ASSIGN(table_words_, scratch(slots, kSlotBytes, "join table"));
  table_.heads = table_words_.as<std::uint32_t>();
  table_.counts = table_.heads + slots;
  table_.starts = table_.counts + slots;
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, slots * 4, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.counts, 0, slots * 4, lane_.stream()));
  GARUDA_TRY_ASSIGN(slots_, scratch(build_.rows, 4, "slots of rows"));
  GARUDA_TRY_ASSIGN(auto const ranks, scratch(build_.rows, 4, "ranks of rows"));
  GARUDA_TRY_ASSIGN(order_, scratch(build_.rows, 4, "build order"));
  GARUDA_TRY(with_key(key_bytes_, [&]<class Key>(Key) {
    return launch_over(lane_, build_.rows, insert_rows_kernel<Key>, build_.keys.as<Key>(), build_.rows, table_,
                       slots_.as<std::uint32_t>(), ranks.as<std::uint32_t>());
  }));
  GARUDA_TRY(sum_up(lane_, table_.counts, table_.starts, static_cast<std::uint32_t>(slots)));
  return launch_over(lane_, build_.rows, place_rows_kernel, table_.starts, slots_.as<std::uint32_t>(),
                     ranks.as<std::uint32_t>(), build_.ids(), build_.rows, order_.as<std::uint32_t>());
}

Result<void> Matches::find() {
  GARUDA_TRY(lane_.step("count", probe_.rows * (key_bytes_ + 8), probe_.rows));
  GARUDA_TRY_ASSIGN(firsts_, scratch(probe_.rows, 4, "first matches"));
  GARUDA_TRY_ASSIGN(counts_, scratch(std::uint64_t{probe_.rows} + 1, 4, "matches of rows"));
  auto* const firsts = firsts_.as<std::uint32_t>();
  auto* const counts = counts_.as<std::uint32_t>();
  auto const entries = probe_.rows + std::uint64_t{1};
  return with_key(key_bytes_, [&]<class Key>(Key) {
    auto const* const build_keys = build_.keys.as<Key>();
    auto const* const probe_keys = probe_.keys.as<Key>();
    if (method_ == GARUDA_CUDA_JOIN_MERGE)
      return launch_over(lane_, entries, probe_sorted_kernel<Key>, build_keys, build_.rows, probe_keys, probe_.rows,
                         firsts, counts);
    return launch_over(lane_, entries, probe_table_kernel<Key>, build_keys, table_, probe_keys, probe_.rows, firsts,
                       counts);
  });
}

Result<void> Matches::scan() {
  GARUDA_TRY(lane_.step("prefix", std::uint64_t{probe_.rows} * 12, probe_.rows));
  auto const count = probe_.rows + 1;
  GARUDA_TRY_ASSIGN(offsets_, scratch(count, 8, "first pairs"));
  GARUDA_TRY(sum_up(lane_, counts_.as<std::uint32_t>(), offsets_.as<std::uint64_t>(), count));
  return {};
}

Result<std::uint64_t> Matches::count() {
  std::uint64_t total = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&total, 1)), offsets_.as<std::uint64_t>() + probe_.rows));
  // Keys are compared no more, but those that are sorted say which rows are alike.
  probe_.keys.reset();
  if (method_ != GARUDA_CUDA_JOIN_MERGE) build_.keys.reset();
  return total;
}

Result<void> Matches::write(std::uint64_t first, std::uint64_t count, PairRows const& out) const {
  MatchList const list{offsets_.as<std::uint64_t>(), firsts_.as<std::uint32_t>(),
                       order_ ? order_.as<std::uint32_t>() : build_.ids(), probe_.ids(), probe_.rows};
  return launch(lane_, {(count + kPairsOfBlock - 1) / kPairsOfBlock, kThreads}, write_pairs_kernel, list, first, count,
                out);
}

Result<void> Matches::mark_build(std::uint32_t* words) const {
  GARUDA_TRY_ASSIGN(auto const hits, scratch(build_.rows, 1, "runs found"));
  auto* const hit_bytes = hits.as<std::uint8_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(hit_bytes, 0, build_.rows, lane_.stream()));
  GARUDA_TRY(launch_over(lane_, probe_.rows, mark_runs_kernel, firsts_.as<std::uint32_t>(), counts_.as<std::uint32_t>(),
                         probe_.rows, hit_bytes));
  if (method_ == GARUDA_CUDA_JOIN_MERGE)
    return with_key(key_bytes_, [&]<class Key>(Key) {
      return launch_over(lane_, build_.rows, mark_build_rows_kernel<SortedRuns<Key>>,
                         SortedRuns<Key>{build_.keys.as<Key>()}, build_.ids(), build_.rows, hit_bytes, words);
    });
  return launch_over(lane_, build_.rows, mark_build_rows_kernel<SlotRuns>,
                     SlotRuns{table_.starts, slots_.as<std::uint32_t>()}, build_.ids(), build_.rows, hit_bytes, words);
}

Result<void> Matches::mark_probe(std::uint32_t* words) const {
  return launch_over(lane_, probe_.rows, mark_probe_rows_kernel, counts_.as<std::uint32_t>(), probe_.ids(), probe_.rows,
                     words);
}

}  // namespace garuda::cuda_backend
