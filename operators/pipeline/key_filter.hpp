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

/// The values of a key column of integers, dates or times, as bits of the range between the least and the greatest. It
/// is made part by part, by all threads that want it; immutable once it is made.
class KeyFilter {
 public:
  /// Whether a column of type `probe` can be tested for the values of one of type `build`.
  static bool is_for(DataType const& build, DataType const& probe) noexcept;

  /// The filter of a build side's column, which has no bits yet. `build` outlives it. Requires: is_for().
  KeyFilter(TableView const& build, std::size_t column);

  enum class State : std::uint8_t {
    range,  ///< The least and the greatest value are looked for.
    bits,   ///< The values' bits are set.
    made,
    too_wide,  ///< The range is so large that its bits would lie in main memory: there is no filter.
  };
  State state() const noexcept { return state_.load(std::memory_order_acquire); }

  /// Does a part of what is left to do, if others do not do the rest. Errors: out_of_memory.
  Result<void> make_part();

  /// Positions in the chunk, ascending, of rows whose value in the column `key` is one of the build side's. Null is
  /// none. Requires: it is made, the column was read, and is_for() its type. Throws: std::bad_alloc.
  Result<RowNumbers> passing(Chunk const& chunk, Slot key) const;

 private:
  /// The parts of one state: blocks of the build side's rows.
  struct Parts {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> done{0};
  };

  Result<void> find_range(std::uint64_t first, std::uint64_t last);
  Result<void> set_bits(std::uint64_t first, std::uint64_t last);
  void end_range();

  TableView build_;
  std::size_t column_;
  std::uint64_t num_parts_;
  std::atomic<State> state_{State::range};
  Parts range_parts_;
  Parts bit_parts_;
  std::atomic<std::int64_t> min_;
  std::atomic<std::int64_t> max_;
  std::uint64_t behind_ = 0;  ///< number of values in the range, whose bit, behind all others, is never set
  KeptVector<std::uint64_t> bits_;
};

/// Leaves out rows of a probe side that have no match, before their keys are encoded and looked up. The KeyFilter is
/// made, by the threads that push chunks, while few of the rows so far had a match, and no longer asked when many pass.
class MissFilter {
 public:
  /// `build`: the build side, whose key is `column`; outlives the filter. `probe`: the probe side's key. Requires:
  /// KeyFilter::is_for() their types.
  MissFilter(TableView build, std::size_t column, Slot probe) : filter_(build, column), probe_(probe) {}

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

  mutable KeyFilter filter_;
  Slot probe_;
  mutable Counts probed_;
  mutable Counts filtered_;
};

}  // namespace garuda::pipeline
