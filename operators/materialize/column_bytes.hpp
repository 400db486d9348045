// What planners and writers ask of a column before its values move: whether it has nulls, the bytes that a gathered
// value takes, and how values are carried through a partitioning, plain ones as they are, short strings as cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::materialize {

/// Whether some row of the column is null.
bool has_nulls(TableView table, std::size_t column);

/// Bytes of a value of a column of strings behind offsets, on average.
double mean_value_bytes(TableView table, std::size_t column);

/// Bytes of one gathered value of a column, estimated from its type and, for strings and binary, from their mean
/// length.
std::uint64_t column_row_bytes(TableView table, std::size_t column);

/// True when values of `column` are copied as they are, `byte_width` bytes each: a type of 1, 2, 4, 8 or 16 bytes other
/// than booleans and dictionaries, and no nulls.
bool is_plain(TableView table, std::size_t column);

/// The values of a plain column, by row.
partition::PayloadColumn payload_column(TableView table, std::size_t column);

/// A short string as partitioning carries it: its bytes, zeros, and in the last byte its length.
inline constexpr std::uint32_t kLargestCellBytes = 16;
inline constexpr std::int64_t kLongestCellValue = kLargestCellBytes - 1;

/// A column that is carried, and the bytes that a value of it takes then.
struct CarriedColumn {
  std::size_t column = 0;
  std::uint32_t bytes = 0;
};

/// Length of the value in the cell of `width` bytes at `cell`.
inline std::int64_t cell_length(std::byte const* cell, std::uint32_t width) noexcept {
  return static_cast<std::int64_t>(cell[width - 1]);
}

/// Bytes of the cells of values of at most `longest` bytes: 8 or 16; 0: there are none so large.
std::uint32_t cell_width(std::int64_t longest) noexcept;

/// The bytes that carrying a value of `column` takes, about: a plain column's width, a cell's by a sample of a string
/// column's lengths; 0: it cannot be carried, as columns with nulls cannot.
std::uint32_t expected_carried_bytes(TableView table, std::size_t column);

/// expected_carried_bytes(), exactly: looks at all lengths of strings, in parallel on the calling task arena. Errors:
/// cancelled.
Result<std::uint32_t> carried_bytes(TableView table, std::size_t column, Control const& control);

/// The values of a column that carrying takes `width` bytes of, by row; cells are made as they move. Borrows the table.
partition::PayloadColumn carried_column(TableView table, std::size_t column, std::uint32_t width);

}  // namespace garuda::materialize
