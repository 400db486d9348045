// The matches of one side's rows in the other, by every method of the join: for each probe row the first of them in the
// build order, and how many there are. Counting sums it up; pairs, marks and joined rows are read from it.
#pragma once

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// A table of the different keys of the build side: open addressing, at most half full. The home slot of a mixed key
/// are its leading bits, so rows in the order of these bits find their slots near each other.
struct JoinTable {
  std::uint32_t* heads = nullptr;   ///< a slot: position of a row with its key, or kNoRow
  std::uint32_t* counts = nullptr;  ///< a slot: rows of its key
  std::uint32_t* starts = nullptr;  ///< a slot: where its rows begin in the build order
  std::uint32_t log2_slots = 1;
};

/// Where the rows of pairs go: those of pair i to index i × stride.
struct PairRows {
  std::uint32_t* build = nullptr;
  std::uint32_t* probe = nullptr;
  std::uint32_t stride = 1;
};

/// Finds and keeps the matches of two columns of keys. Errors of every call: limit_exceeded, out_of_memory,
/// device_failure, cancelled. What it holds is the lane's.
class Matches {
 public:
  /// `method`: not automatic, see chosen_join_method(). `key_bytes`: 4 or 8. At most 2^30 build rows.
  Matches(Lane& lane, GarudaCudaJoinMethod method, std::uint32_t key_bytes, std::uint32_t build_rows,
          std::uint32_t probe_rows);

  /// Takes the build side's keys, at an address of the device, any value legal; then the probe side's. They are copied.
  /// Waits for nothing.
  Result<void> add_build(std::uint64_t keys);
  Result<void> add_probe(std::uint64_t keys);
  /// Number of pairs. Waits for the lane. Called after both sides are there, before what follows.
  Result<std::uint64_t> count();

  /// Writes the rows of pairs [first, first + count) of the sequence, `count` above 0.
  Result<void> write(std::uint64_t first, std::uint64_t count, PairRows const& out) const;
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

    std::uint32_t const* ids() const { return row_ids.as<std::uint32_t>(); }
  };

  Result<Buffer> scratch(std::uint64_t rows, std::uint64_t bytes, char const* name) const {
    return lane_.allocate(rows * bytes, name);
  }
  Result<void> take(Side& side, std::uint64_t keys) const;
  Result<void> build_table();
  Result<void> find();
  Result<void> scan();

  Lane& lane_;
  GarudaCudaJoinMethod method_;
  std::uint32_t key_bytes_;
  std::uint32_t bits_ = 0;  // of the partitions
  Side build_;
  Side probe_;
  JoinTable table_;
  Buffer table_words_;
  Buffer slots_;   // of the build rows
  Buffer order_;   // build rows, those of a key side by side; empty: as sorted
  Buffer firsts_;  // of the probe rows, and counts_, offsets_
  Buffer counts_;
  Buffer offsets_;
};

/// The method that automatic stands for: rows as they come while their table fits the second-level cache, else rows in
/// partitions.
GarudaCudaJoinMethod chosen_join_method(std::uint32_t asked, Lane const& lane, std::uint32_t build_rows,
                                        std::uint32_t key_bytes);

}  // namespace garuda::cuda_backend
