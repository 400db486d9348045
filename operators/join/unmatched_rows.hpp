// Unmatched rows of one side of a join, or its matched ones, as the kind of join gives them, in the order of their
// table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/encoded_keys.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/row_marks.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// The keys of a table before they were partitioned, while they are still there: a column of the table, all of whose
/// rows have a key.
struct KeysInPlace {
  void const* words = nullptr;  ///< nullptr: they are not
  partition::RadixDigit digit;  ///< that they were partitioned by
};

/// Nothing when the keys are words of their own, or some rows have none, or none will move.
KeysInPlace keys_in_place(keys::EncodedKeys const& keys, partition::RadixDigit digit);

/// Turns marks by position in the partitioned keys into marks by row of their table, which has `table_rows` rows; those
/// without a key have no match. Which row a key is of say its row ids, or `source`: since partitions keep the order of
/// rows, keys that are counted in this order find their positions. Requires one of both, or keys that did not move.
/// Runs on the threads of the calling task arena. Errors: out_of_memory, cancelled.
Result<contract::MarkBitmap> marks_by_row(contract::RowMarks marks, partition::PartitionedKeys const& keys,
                                          KeysInPlace const& source, std::uint64_t table_rows, Control const& control);

/// Enumerates the row ids of the rows of one side that the result has without a row of the other side, piece by piece.
/// Used by one thread.
class UnmatchedRows {
 public:
  /// `matched`: a bit a row, of `table_rows` rows. Requires: `chosen` is not none.
  UnmatchedRows(contract::SideRows chosen, contract::MarkBitmap matched, std::uint64_t table_rows);

  std::uint64_t size() const noexcept { return firsts_.back(); }
  bool at_end() const noexcept { return position_ == size(); }
  /// Whether each row has a match.
  std::shared_ptr<contract::MarkBitmap const> const& matched() const noexcept { return matched_; }

  /// The next rows, ascending, at most `most`: row ids, valid until the next call. Runs on the threads of the calling
  /// task arena. Errors: cancelled.
  Result<std::span<std::int64_t const>> peek(std::uint64_t most, Control const& control);
  /// Goes on behind the first `rows` of them.
  void take(std::uint64_t rows) noexcept { position_ += rows; }

 private:
  void write_block(std::uint64_t block, std::span<std::int64_t> ids) const;

  contract::SideRows chosen_;
  std::shared_ptr<contract::MarkBitmap const> matched_;
  std::uint64_t table_rows_;
  std::vector<std::uint64_t> firsts_;  // chosen rows before each block of rows, then all of them
  std::uint64_t position_ = 0;
  std::vector<std::int64_t> ids_;
};

}  // namespace garuda::join
