// Semi-join filters of integers: which values a build side's key has.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/pipeline/chunk.hpp"

namespace garuda::pipeline {

/// The values of a key column of integers, dates or times, as bits of the range between the least and the greatest.
/// Immutable once it is made.
class KeyFilter {
 public:
  /// Whether a column of type `probe` can be tested for the values of one of type `build`.
  static bool is_for(DataType const& build, DataType const& probe) noexcept;

  /// nullopt: the range is so large that its bits would lie in main memory. Requires: is_for(). Errors: out_of_memory.
  static Result<std::optional<KeyFilter>> create(TableView const& build, std::size_t column);

  /// Positions in the chunk, ascending, of rows whose value in the column `key` is one of the build side's. Null is
  /// none. Requires: the column was read, and is_for() its type. Throws: std::bad_alloc.
  Result<RowNumbers> passing(Chunk const& chunk, Slot key) const;

 private:
  std::int64_t min_ = 0;
  std::uint64_t behind_ = 0;  ///< number of values in the range, whose bit, behind all others, is never set
  KeptVector<std::uint64_t> bits_;
};

/// Leaves out rows of a probe side that have no match, before their keys are encoded and looked up. The KeyFilter is
/// made when few of the rows so far had a match, and no longer asked when many pass. Used by several threads.
class MissFilter {
 public:
  /// `build`: the build side, whose key is `column`; outlives the filter. `probe`: the probe side's key. Requires:
  /// KeyFilter::is_for() their types.
  MissFilter(TableView build, std::size_t column, Slot probe) : build_(build), column_(column), probe_(probe) {}

  /// Positions in the chunk, ascending, of rows that may have a match; nullopt: all rows may. Errors: out_of_memory.
  Result<std::optional<RowNumbers>> passing(Chunk const& chunk) const;
  /// Counts rows that looked up the build side.
  void add_probed(std::uint64_t rows, std::uint64_t matched) const noexcept { probed_.add(rows, matched); }

 private:
  /// Rows, and how many of them went on.
  struct Counts {
    std::atomic<std::uint64_t> rows{0};
    std::atomic<std::uint64_t> kept{0};

    void add(std::uint64_t more_rows, std::uint64_t more_kept) noexcept;
    bool are_many() const noexcept;
    bool are_few() const noexcept;
  };

  TableView build_;
  std::size_t column_;
  Slot probe_;
  mutable Counts probed_;
  mutable Counts filtered_;
  mutable std::atomic_flag is_begun_;  ///< A thread makes the filter, or has made it.
  mutable std::optional<KeyFilter> made_;
  mutable std::atomic<KeyFilter const*> filter_{nullptr};  ///< nullptr: there is none, or not yet
};

}  // namespace garuda::pipeline
