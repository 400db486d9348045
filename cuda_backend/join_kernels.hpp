// Kernels of the join of one slice. Launch functions return what CUDA says of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

/// A table of the different keys of the build side: open addressing, at most half full. The home slot of a mixed key
/// are its leading bits, so rows in the order of these bits find their slots near each other.
struct JoinTable {
  std::uint32_t* heads = nullptr;   ///< a slot: position of a row with its key, or kNoRow
  std::uint32_t* counts = nullptr;  ///< a slot: rows of its key
  std::uint32_t* starts = nullptr;  ///< a slot: where its rows begin in the build order
  std::uint32_t log2_slots = 1;
};

/// Where a launch goes.
struct Launch {
  cudaStream_t stream = nullptr;
  unsigned multiprocessors = 1;
};

/// Mixes `rows` keys; numbers the rows in `row_ids` unless it is null.
template <class Key>
cudaError_t mix_keys(Launch const& launch, Key const* keys, std::uint32_t rows, Key* mixed, std::uint32_t* row_ids);

/// Enters rows: the slot of each, and its rank among the rows of its key.
template <class Key>
cudaError_t insert_rows(Launch const& launch, Key const* keys, std::uint32_t rows, JoinTable const& table,
                        std::uint32_t* slots, std::uint32_t* ranks);

/// Writes row ids (null: positions) in the order of slots, rows of a key side by side.
cudaError_t place_rows(Launch const& launch, JoinTable const& table, std::uint32_t const* slots,
                       std::uint32_t const* ranks, std::uint32_t const* row_ids, std::uint32_t rows,
                       std::uint32_t* order);

/// Finds the matches of each probe row: `counts` of them from `firsts` on in the build order; counts[probe_rows] = 0.
template <class Key>
cudaError_t probe_table(Launch const& launch, Key const* build_keys, JoinTable const& table, Key const* probe_keys,
                        std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts);

/// The same in a build side that is sorted by key; the build order is then that of the keys.
template <class Key>
cudaError_t probe_sorted(Launch const& launch, Key const* build_keys, std::uint32_t build_rows, Key const* probe_keys,
                         std::uint32_t probe_rows, std::uint32_t* firsts, std::uint32_t* counts);

/// Slots of a partition's table in shared memory.
inline constexpr std::uint32_t kPartitionSlots = 4096;

/// The keys of each partition, listed from where its build rows begin.
struct PartitionTables {
  std::uint32_t const* starts = nullptr;  ///< 2^bits + 1: where the build rows of a partition begin
  std::uint32_t bits = 0;
  void* keys = nullptr;               ///< build rows × key
  std::uint32_t* runs = nullptr;      ///< build rows: where the rows of a listed key begin in the build order
  std::uint32_t* counts = nullptr;    ///< build rows: how many they are
  std::uint32_t* distinct = nullptr;  ///< 2^bits: keys listed
  std::uint32_t* overflow = nullptr;  ///< 0 before; set when a partition has more keys than kPartitionSlots
};

/// Brings rows of a key side by side: `order` is the build order, runs[i] where the run of its position i begins.
/// `keys`: mixed, in the order of partitions, as `row_ids`. Lists the keys in `tables`.
template <class Key>
cudaError_t group_partition_rows(Launch const& launch, Key const* keys, std::uint32_t const* row_ids,
                                 PartitionTables const& tables, std::uint32_t* order, std::uint32_t* runs);

/// Finds the matches of probe rows, in the order of the same partitions, as probe_table() does.
template <class Key>
cudaError_t probe_partitions(Launch const& launch, PartitionTables const& tables, Key const* probe_keys,
                             std::uint32_t const* probe_starts, std::uint32_t probe_rows, std::uint32_t* firsts,
                             std::uint32_t* counts);

/// What pairs are made from. offsets: probe_rows + 1, the first pair of each probe row.
struct MatchList {
  std::uint64_t const* offsets = nullptr;
  std::uint32_t const* firsts = nullptr;
  std::uint32_t const* build_order = nullptr;
  std::uint32_t const* probe_order = nullptr;  ///< null: positions
  std::uint32_t probe_rows = 0;
  bool build_is_left = true;
};

/// Writes pairs [first, first + count) of the sequence.
cudaError_t write_pairs(Launch const& launch, MatchList const& matches, std::uint64_t first, std::uint64_t count,
                        GarudaCudaRowPair* pairs);

/// The rows of pairs [first, first + count) of the sequence, a word each.
cudaError_t write_pair_rows(Launch const& launch, MatchList const& matches, std::uint64_t first, std::uint64_t count,
                            std::uint32_t* build_rows, std::uint32_t* probe_rows);

/// target[i] = source[rows[i]]. Value: u32 or u64.
template <class Value>
cudaError_t gather(Launch const& launch, Value const* source, std::uint32_t const* rows, std::uint64_t count,
                   Value* target);

/// Sets the bits of probe rows with matches. `words`: cleared before.
cudaError_t mark_probe_rows(Launch const& launch, std::uint32_t const* counts, std::uint32_t const* probe_order,
                            std::uint32_t probe_rows, std::uint32_t* words);

/// Sets hits[first] of every run that a probe row found. `hits`: build rows, cleared before.
cudaError_t mark_runs(Launch const& launch, std::uint32_t const* firsts, std::uint32_t const* counts,
                      std::uint32_t probe_rows, std::uint8_t* hits);

/// Sets the bits of build rows whose run was hit: runs by the table's slots,
cudaError_t mark_build_rows(Launch const& launch, JoinTable const& table, std::uint32_t const* slots,
                            std::uint32_t const* row_ids, std::uint32_t build_rows, std::uint8_t const* hits,
                            std::uint32_t* words);
/// by the build order and its runs,
cudaError_t mark_ordered_rows(Launch const& launch, std::uint32_t const* runs, std::uint32_t const* order,
                              std::uint32_t build_rows, std::uint8_t const* hits, std::uint32_t* words);
/// or by sorted keys.
template <class Key>
cudaError_t mark_sorted_rows(Launch const& launch, Key const* build_keys, std::uint32_t const* row_ids,
                             std::uint32_t build_rows, std::uint8_t const* hits, std::uint32_t* words);

}  // namespace garuda::cuda_backend
