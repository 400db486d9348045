// A key column as it is read: the arrays of its table, or copies in a wider type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel_blocks.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "keys/codes/value_bytes.hpp"

namespace garuda::keys {

/// An array in memory of its own; `view` begins at offset 0.
struct WidenedArray {
  ArrayView view;
  AlignedBuffer validity;
  AlignedBuffer offsets;
  AlignedBuffer values;
};

/// The rows of `array`, of type `from`, as type `to`: a result or compared type of common_key_type where `from` is one
/// of the two columns'. Strings and binary get 64-bit offsets; rows of a dictionary its values.
/// Errors: invalid_input, for a value beyond `to`, which names row `first_row` + its own; out_of_memory.
Result<WidenedArray> widen(ArrayView const& array, DataType const& from, DataType const& to, std::uint64_t first_row);

/// The arrays of a column, or copies of them in another type.
struct KeyColumn {
  Field field;                      ///< of the table
  DataType type;                    ///< of the arrays
  std::vector<ArrayView> arrays;    ///< a batch each
  std::vector<WidenedArray> owned;  ///< what copies refer to; empty: the arrays are the table's
};

/// Strings and binary, not dictionaries of them.
bool has_bytes(DataType const& type) noexcept;

/// The column, to be compared as type `as`: its own, or one of common_key_type. It is copied unless its values extend
/// to those of `as`, or have the same bytes. Copying runs on the threads of the calling task arena. Borrows the table.
/// Errors: invalid_input for a column in device memory, and those of widen; out_of_memory, cancelled.
Result<KeyColumn> open_key_column(TableView table, std::size_t column, DataType const& as, Control const& control);

/// The values that a column's rows refer to: its own, then value i is that of row i; or those of its dictionaries, each
/// distinct one once.
struct ColumnValues {
  ValueBytes bytes;
  std::vector<std::uint64_t> first_value;  ///< of dictionaries: per batch, first value of its dictionary; else empty
};

/// Adds the values of a column to those of others; returns, of a dictionary, the first value of each batch's.
/// `in_order`: decimals of 256 bits as bytes of their order. Borrows `column`. Errors: out_of_memory.
Result<std::vector<std::uint64_t>> add_values(KeyColumn const& column, ValueBytes& values, bool in_order = false);

/// Calls body(array, begin, end, row) for rows [begin, end) of consecutive arrays, the first of which is row `row` of
/// all: pieces of blocks of kBlockRows rows, each of which begins with a piece of its own. Runs on the threads of the
/// calling task arena. Errors: cancelled.
template <class Body>
Result<void> for_array_rows(std::span<ArrayView const> arrays, Control const& control, Body const& body) {
  std::vector<std::uint64_t> firsts{0};
  for (auto const& array : arrays) firsts.push_back(firsts.back() + static_cast<std::uint64_t>(array.length));
  return for_each_range(firsts.back(), &control, [&](std::uint64_t row, std::uint64_t last) {
    auto a = static_cast<std::size_t>(std::ranges::upper_bound(firsts, row) - firsts.begin() - 1);
    for (; row < last; ++a) {
      auto const end = std::min(last, firsts[a + 1]);
      if (row < end)
        body(a, static_cast<std::int64_t>(row - firsts[a]), static_cast<std::int64_t>(end - firsts[a]), row);
      row = end;
    }
  });
}

/// Of one column, as it is, of decimals of 256 bits in their order. Borrows the table. Requires: the column exists, in
/// memory that the host can read. Errors: out_of_memory.
Result<ColumnValues> values_of(TableView table, std::size_t column);

}  // namespace garuda::keys
