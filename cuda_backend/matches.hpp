// The matches of one side's rows in the other, by every method of the join: for each probe row the first of them in the
// build order, and how many there are. Counting sums it up; pairs, marks and joined rows are read from it.
#pragma once

#include <cstdint>

#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/partition_tables.hpp"
#include "cuda_backend/partitioned_side.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Finds and keeps the matches of two columns of keys. Errors of every call: limit_exceeded, out_of_memory,
/// device_failure, cancelled. What it holds is the lane's.
template <class Key>
class Matches {
 public:
  /// `method`: not automatic, see chosen_join_method(). At most 2^30 build rows.
  Matches(Lane& lane, GarudaCudaJoinMethod method, std::uint32_t build_rows, std::uint32_t probe_rows);

  /// Takes the build side's keys, on the device, any value legal; then the probe side's. They are copied. Waits for
  /// nothing.
  Result<void> add_build(Key const* keys);
  Result<void> add_probe(Key const* keys);
  /// Number of pairs. Waits for the lane; when tables of partitions had no room for their keys, matches again by one
  /// table. Called after both sides are there, before what follows.
  Result<std::uint64_t> count();

  /// What pairs are made from.
  MatchList list(bool build_is_left) const;
  /// Set the bits of rows that have a match; `words`: cleared before.
  Result<void> mark_build(std::uint32_t* words) const;
  Result<void> mark_probe(std::uint32_t* words) const;
  GarudaCudaJoinMethod method() const noexcept { return method_; }

 private:
  /// Keys of a side, mixed, and the rows they belong to; without rows: positions.
  struct Side {
    std::uint32_t rows = 0;
    Buffer keys;
    Buffer row_ids;
    Buffer starts;  ///< of partitions

    Key const* mixed() const { return keys.as<Key>(); }
    std::uint32_t const* ids() const { return row_ids.as<std::uint32_t>(); }
  };

  Result<Buffer> scratch(std::uint64_t rows, std::uint64_t bytes, char const* name) const {
    return lane_.allocate(rows * bytes, name);
  }
  Result<void> take(Side& side, Key const* keys) const;
  Result<void> partition_side(Side& side, Key const* keys) const;
  Result<void> sort(Side& side) const;
  Result<void> build_table();
  Result<void> group_partitions();
  Result<void> find();
  Result<void> scan();
  std::uint32_t const* build_order() const { return order_ ? order_.as<std::uint32_t>() : build_.ids(); }

  Lane& lane_;
  Launch launch_;
  GarudaCudaJoinMethod method_;
  std::uint32_t bits_ = 0;  // of the partitions
  Side build_;
  Side probe_;
  JoinTable table_;
  Buffer table_words_;
  Buffer slots_;  // of the build rows
  PartitionTableMemory tables_;
  Buffer runs_;    // where the run of a position of the build order begins
  Buffer order_;   // build rows, those of a key side by side; empty: as sorted
  Buffer firsts_;  // of the probe rows, and counts_, offsets_
  Buffer counts_;
  Buffer offsets_;
};

/// The method that automatic stands for: one table while it fits the second-level cache, else partitions.
GarudaCudaJoinMethod chosen_join_method(std::uint32_t asked, Lane const& lane, std::uint32_t build_rows,
                                        std::uint32_t key_bytes);

}  // namespace garuda::cuda_backend
