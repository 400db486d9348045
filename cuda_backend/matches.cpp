#include "cuda_backend/matches.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "cuda_backend/scratch_primitives.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Share of the L2 cache that a table may take without partitioning.
constexpr std::uint64_t kCacheShare = 2;
constexpr std::uint64_t kSlotBytes = 12;
/// Keys that a partition's table in shared memory holds at half load.
constexpr std::uint64_t kPartitionKeys = kPartitionSlots / 2;

std::uint32_t log2_slots_for(std::uint32_t rows) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::bit_width(2 * std::uint64_t{rows} - 1)));
}

}  // namespace

GarudaCudaJoinMethod chosen_join_method(std::uint32_t asked, Lane const& lane, std::uint32_t build_rows,
                                        std::uint32_t key_bytes) {
  if (asked != GARUDA_CUDA_JOIN_AUTOMATIC) return static_cast<GarudaCudaJoinMethod>(asked);
  auto const bytes = (kSlotBytes << log2_slots_for(build_rows)) + std::uint64_t{build_rows} * key_bytes;
  auto const fits = bytes <= lane.device().traits().l2_bytes / kCacheShare;
  return fits ? GARUDA_CUDA_JOIN_TABLE : GARUDA_CUDA_JOIN_PARTITIONED;
}

template <class Key>
Matches<Key>::Matches(Lane& lane, GarudaCudaJoinMethod method, std::uint32_t build_rows, std::uint32_t probe_rows)
    : lane_(lane), launch_{lane.stream(), lane.device().traits().multiprocessors}, method_(method) {
  build_.rows = build_rows;
  probe_.rows = probe_rows;
  auto const parts = std::max<std::uint64_t>((build_rows + kPartitionKeys - 1) / kPartitionKeys, 2);
  bits_ = std::min(static_cast<std::uint32_t>(std::bit_width(parts - 1)), kMostPartitionBits);
}

template <class Key>
Result<void> Matches<Key>::add_build(Key const* keys) {
  GARUDA_TRY(take(build_, keys));
  if (method_ == GARUDA_CUDA_JOIN_TABLE) return build_table();
  return method_ == GARUDA_CUDA_JOIN_PARTITIONED ? group_partitions() : Result<void>{};
}

template <class Key>
Result<void> Matches<Key>::add_probe(Key const* keys) {
  GARUDA_TRY(take(probe_, keys));
  GARUDA_TRY(find());
  return scan();
}

/// Mixed keys in the order that the method wants.
template <class Key>
Result<void> Matches<Key>::take(Side& side, Key const* keys) const {
  auto const bytes = std::uint64_t{side.rows} * sizeof(Key);
  GARUDA_TRY(lane_.step("partition", 2 * bytes, side.rows));
  if (method_ == GARUDA_CUDA_JOIN_PARTITIONED) return partition_side(side, keys);
  GARUDA_TRY_ASSIGN(side.keys, scratch(side.rows, sizeof(Key), "mixed keys"));
  if (method_ == GARUDA_CUDA_JOIN_MERGE) {
    GARUDA_TRY_ASSIGN(side.row_ids, scratch(side.rows, sizeof(std::uint32_t), "row ids"));
  }
  GARUDA_CUDA_TRY(
      mix_keys(launch_, keys, side.rows, side.keys.template as<Key>(), side.row_ids.template as<std::uint32_t>()));
  return method_ == GARUDA_CUDA_JOIN_MERGE ? sort(side) : Result<void>{};
}

template <class Key>
Result<void> Matches<Key>::partition_side(Side& side, Key const* keys) const {
  GARUDA_TRY_ASSIGN(auto partitioned, partition(lane_, launch_, keys, side.rows, std::span(&kRowNumbers, 1),
                                                PartitionShape{bits_, true}));
  side.keys = std::move(partitioned.keys);
  side.row_ids = std::move(partitioned.columns[0]);
  side.starts = std::move(partitioned.starts);
  return {};
}

template <class Key>
Result<void> Matches<Key>::sort(Side& side) const {
  GARUDA_TRY_ASSIGN(auto sorted_keys, scratch(side.rows, sizeof(Key), "sorted keys"));
  GARUDA_TRY_ASSIGN(auto sorted_ids, scratch(side.rows, sizeof(std::uint32_t), "sorted row ids"));
  GARUDA_TRY(sort_rows(lane_, side.keys.template as<Key>(), sorted_keys.template as<Key>(),
                       side.row_ids.template as<std::uint32_t>(), sorted_ids.template as<std::uint32_t>(), side.rows));
  side.keys = std::move(sorted_keys);
  side.row_ids = std::move(sorted_ids);
  return {};
}

template <class Key>
Result<void> Matches<Key>::build_table() {
  GARUDA_TRY(lane_.step("build", build_.rows * (sizeof(Key) + kSlotBytes), build_.rows));
  table_.log2_slots = log2_slots_for(build_.rows);
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
  GARUDA_CUDA_TRY(insert_rows(launch_, build_.mixed(), build_.rows, table_, slots_.as<std::uint32_t>(),
                              ranks.template as<std::uint32_t>()));
  GARUDA_TRY(sum_up(lane_, table_.counts, table_.starts, static_cast<std::uint32_t>(slots)));
  GARUDA_CUDA_TRY(place_rows(launch_, table_, slots_.as<std::uint32_t>(), ranks.template as<std::uint32_t>(),
                             build_.ids(), build_.rows, order_.as<std::uint32_t>()));
  return {};
}

/// Rows of a key side by side, partition by partition, and the list of each partition's keys.
template <class Key>
Result<void> Matches<Key>::group_partitions() {
  GARUDA_TRY(lane_.step("build", build_.rows * (2 * sizeof(Key) + 12), build_.rows));
  GARUDA_TRY_ASSIGN(order_, scratch(build_.rows, 4, "build order"));
  GARUDA_TRY_ASSIGN(runs_, scratch(build_.rows, 4, "runs of rows"));
  GARUDA_TRY_ASSIGN(tables_, PartitionTableMemory::create<Key>(lane_, build_.starts, bits_, build_.rows));
  GARUDA_CUDA_TRY(group_partition_rows(launch_, build_.mixed(), build_.ids(), tables_.tables(),
                                       order_.as<std::uint32_t>(), runs_.as<std::uint32_t>()));
  return {};
}

template <class Key>
Result<void> Matches<Key>::find() {
  GARUDA_TRY(lane_.step("count", probe_.rows * (sizeof(Key) + 8), probe_.rows));
  GARUDA_TRY_ASSIGN(firsts_, scratch(probe_.rows, 4, "first matches"));
  GARUDA_TRY_ASSIGN(counts_, scratch(std::uint64_t{probe_.rows} + 1, 4, "matches of rows"));
  auto* const firsts = firsts_.as<std::uint32_t>();
  auto* const counts = counts_.as<std::uint32_t>();
  switch (method_) {
    case GARUDA_CUDA_JOIN_MERGE:
      GARUDA_CUDA_TRY(probe_sorted(launch_, build_.mixed(), build_.rows, probe_.mixed(), probe_.rows, firsts, counts));
      break;
    case GARUDA_CUDA_JOIN_PARTITIONED:
      GARUDA_CUDA_TRY(probe_partitions(launch_, tables_.tables(), probe_.mixed(),
                                       probe_.starts.template as<std::uint32_t>(), probe_.rows, firsts, counts));
      break;
    default:
      GARUDA_CUDA_TRY(probe_table(launch_, build_.mixed(), table_, probe_.mixed(), probe_.rows, firsts, counts));
  }
  return {};
}

template <class Key>
Result<void> Matches<Key>::scan() {
  GARUDA_TRY(lane_.step("prefix", std::uint64_t{probe_.rows} * 12, probe_.rows));
  auto const count = probe_.rows + 1;
  GARUDA_TRY_ASSIGN(offsets_, scratch(count, 8, "first pairs"));
  GARUDA_TRY(sum_up(lane_, counts_.as<std::uint32_t>(), offsets_.as<std::uint64_t>(), count));
  return {};
}

template <class Key>
Result<std::uint64_t> Matches<Key>::count() {
  if (method_ == GARUDA_CUDA_JOIN_PARTITIONED) {
    GARUDA_TRY_ASSIGN(auto const has_overflown, tables_.has_overflown());
    if (has_overflown) {
      lane_.add_counter("partitions_outgrown", 1);
      method_ = GARUDA_CUDA_JOIN_TABLE;
      GARUDA_TRY(build_table());
      GARUDA_TRY(find());
      GARUDA_TRY(scan());
    }
  }
  std::uint64_t total = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&total, 1)), offsets_.as<std::uint64_t>() + probe_.rows));
  // Keys are compared no more, but those that are sorted say which rows are alike.
  probe_.keys.reset();
  if (method_ != GARUDA_CUDA_JOIN_MERGE) build_.keys.reset();
  tables_ = {};
  return total;
}

template <class Key>
MatchList Matches<Key>::list(bool build_is_left) const {
  return {offsets_.as<std::uint64_t>(),
          firsts_.as<std::uint32_t>(),
          build_order(),
          probe_.ids(),
          probe_.rows,
          build_is_left};
}

template <class Key>
Result<void> Matches<Key>::mark_build(std::uint32_t* words) const {
  GARUDA_TRY_ASSIGN(auto const hits, scratch(build_.rows, 1, "runs found"));
  auto* const hit_bytes = hits.template as<std::uint8_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(hit_bytes, 0, build_.rows, lane_.stream()));
  GARUDA_CUDA_TRY(mark_runs(launch_, firsts_.as<std::uint32_t>(), counts_.as<std::uint32_t>(), probe_.rows, hit_bytes));
  switch (method_) {
    case GARUDA_CUDA_JOIN_MERGE:
      GARUDA_CUDA_TRY(mark_sorted_rows(launch_, build_.mixed(), build_.ids(), build_.rows, hit_bytes, words));
      break;
    case GARUDA_CUDA_JOIN_PARTITIONED:
      GARUDA_CUDA_TRY(mark_ordered_rows(launch_, runs_.as<std::uint32_t>(), order_.as<std::uint32_t>(), build_.rows,
                                        hit_bytes, words));
      break;
    default:
      GARUDA_CUDA_TRY(
          mark_build_rows(launch_, table_, slots_.as<std::uint32_t>(), build_.ids(), build_.rows, hit_bytes, words));
  }
  return {};
}

template <class Key>
Result<void> Matches<Key>::mark_probe(std::uint32_t* words) const {
  GARUDA_CUDA_TRY(mark_probe_rows(launch_, counts_.as<std::uint32_t>(), probe_.ids(), probe_.rows, words));
  return {};
}

template class Matches<std::uint32_t>;
template class Matches<std::uint64_t>;

}  // namespace garuda::cuda_backend
