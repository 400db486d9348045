// A key column as it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/codes/value_bytes.hpp"
#include "keys/codes/widened_array.hpp"

namespace garuda::keys {

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
/// Borrows `column`. Errors: out_of_memory.
Result<std::vector<std::uint64_t>> add_values(KeyColumn const& column, ValueBytes& values);

/// Of one column, as it is, of decimals of 256 bits in their order. Borrows the table. Requires: the column exists, in
/// memory that the host can read. Errors: out_of_memory.
Result<ColumnValues> values_of(TableView table, std::size_t column);

}  // namespace garuda::keys
