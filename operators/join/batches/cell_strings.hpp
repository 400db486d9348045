// A column of strings behind offsets, made of the cells in which partitioning carried its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/carried_column.hpp"

namespace garuda::join {

/// One column of one batch. Used by one thread.
class CellStrings {
 public:
  /// Most rows of a batch that offsets of 32 bits reach over.
  static constexpr std::uint64_t kMostRows =
      std::numeric_limits<std::int32_t>::max() / std::uint64_t{materialize::kLargestCellBytes};

  /// Makes room for `rows` rows of `mean_bytes` bytes, about. Errors: out_of_memory.
  Result<void> start(std::uint64_t rows, double mean_bytes, bool large_offsets);

  /// Appends the values of `count` cells of `width` bytes; at(i): that of row i. `present`: 0 where there is no value,
  /// nullptr: all have one. Requires: there is room for the rows. Throws std::bad_alloc.
  template <class At>
  void append(std::byte const* cells, std::uint32_t width, At at, std::size_t count, std::uint8_t const* present) {
    reserve_bytes(count);
    if (width == 8)
      is_large_ ? put<8, std::int64_t>(cells, at, count, present) : put<8, std::int32_t>(cells, at, count, present);
    else
      is_large_ ? put<16, std::int64_t>(cells, at, count, present) : put<16, std::int32_t>(cells, at, count, present);
    rows_ += count;
  }

  /// Ends the column, if there is one.
  void finish() noexcept;
  /// Its rows from `first` on; refers to this. Requires: finish() was called.
  ArrayView view(std::uint64_t first, std::int64_t rows) const noexcept;

 private:
  template <std::uint32_t kWidth, class Offset, class At>
  void put(std::byte const* cells, At at, std::size_t count, std::uint8_t const* present) {
    auto* const out = bytes_.data();
    auto* const ends = offsets_.as<Offset>() + rows_ + 1;
    auto end = used_;
    for (std::size_t i = 0; i < count; ++i) {
      auto const* const cell = cells + at(i) * std::size_t{kWidth};
      // The whole cell: what lies behind its value is overwritten by the next one.
      __builtin_memcpy(out + end, cell, kWidth);
      auto const length = materialize::cell_length(cell, kWidth);
      end += present == nullptr || present[i] != 0 ? length : 0;
      ends[i] = static_cast<Offset>(end);
    }
    used_ = end;
  }

  void reserve_bytes(std::size_t rows);

  AlignedBuffer offsets_;
  AlignedBuffer bytes_;
  std::uint64_t rows_ = 0;
  std::int64_t used_ = 0;  ///< of bytes_
  bool is_large_ = false;
};

}  // namespace garuda::join
