// Columns of tables as vectors of a block, and vectors as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "expr/vector.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::expr {

/// Reads a column of a table block by block. Batches follow each other, and a dictionary column is read as its values.
/// Used by one thread at a time; several readers may read one table.
class ColumnReader {
 public:
  /// Borrows the table, whose batches outlive the reader and the strings that it has read.
  /// Errors: invalid_input, naming the column, where expressions do not compute with its type (kind_of) or the table
  /// lives on a device.
  static Result<ColumnReader> create(TableView const& table, std::size_t column);

  /// The type of the values that are read: a dictionary's values have theirs.
  DataType const& type() const noexcept { return type_; }

  /// Has decimals read as narrow vectors from now on, where 64 bits hold the values of a block.
  void allow_narrow();

  /// Rows [begin, begin + count) of the table. The vector stays until the next read; it refers to the column itself
  /// where the column holds values as vectors do. NaNs of float16 become the canonical one. Values of null rows may be
  /// read, and mean nothing. Requires: begin + count <= num_rows of the table, count <= kVectorRows.
  Vector read(std::uint64_t begin, std::size_t count);
  /// The rows begin + rows[i] of the table, side by side, as above. Requires: they ascend and lie in one batch, at most
  /// kVectorRows behind `begin`.
  Vector read(std::uint64_t begin, std::span<std::uint16_t const> rows);

 private:
  ColumnReader(TableView const& table, std::size_t column, DataType type, Kind kind);

  std::size_t batch_of(std::uint64_t row);
  bool is_as_vectors(ArrayView const& array) const noexcept;
  std::size_t vector_bytes() const noexcept;
  void narrow(Vector& vector, std::size_t count);
  template <class RowAt>
  void read_part(ArrayView const& array, std::size_t first, std::size_t count, RowAt const& row_at);
  bool read_valid(ArrayView const& array, std::int64_t row, std::size_t first, std::size_t count);

  TableView table_;
  std::size_t column_;
  DataType type_;
  Kind kind_;
  std::vector<std::uint64_t> first_rows_;  // of each batch, then the number of rows
  std::size_t batch_ = 0;                  // that the last block began in
  bool is_narrow_ = false;                 // the column has decimals of 32 or 64 bits, which are read as int64
  std::vector<std::int64_t> narrow_;       // kVectorRows values, where it has others that may be read so
  std::vector<Int128> values_;             // kVectorRows values
  std::vector<std::uint8_t> valid_;        // kVectorRows bytes
  std::vector<std::int64_t> positions_;    // kVectorRows positions in a dictionary, where there is one
};

/// A column that was written, and what keeps its buffers alive.
struct WrittenColumn {
  ArrayView array;
  std::shared_ptr<void const> owner;
};

/// Writes vectors, one after the other, into a column. Used by one thread at a time. Throws: std::bad_alloc.
class ColumnWriter {
 public:
  /// Requires: a type that expressions compute with, and no dictionary.
  explicit ColumnWriter(DataType type);

  DataType const& type() const noexcept { return type_; }
  std::int64_t length() const noexcept { return length_; }
  /// Makes room for `rows` more rows, but for bytes of strings.
  void reserve(std::size_t rows);
  /// Memory for the next `count` values, as a vector of the type's kind has them; nullptr where the column has them in
  /// another form. A vector that lies there is appended without a copy.
  void* room(std::size_t count);
  /// Appends the first `count` rows of a vector of the type's kind. Copies bytes of strings.
  /// Errors: limit_exceeded, where the strings of the column are more than 2^31 - 1 bytes and its type has offsets of
  /// 32 bits or views.
  Result<void> append(Vector const& vector, std::size_t count);
  /// Appends rows of a vector, in the order of their numbers in `rows`. Errors: as above.
  Result<void> append(Vector const& vector, std::span<std::uint16_t const> rows);
  /// Returns the column of all rows so far; the writer begins a new one.
  WrittenColumn finish();

 private:
  template <class Row>
  Result<void> append_rows(Vector const& vector, std::size_t count, Row const& row);
  template <class Row>
  void append_valid(Vector const& vector, std::size_t count, Row const& row);
  template <class Row>
  Result<void> append_bytes(Vector const& vector, std::size_t count, Row const& row);
  template <class Row>
  void append_values(Vector const& vector, std::size_t count, Row const& row);

  DataType type_;
  Kind kind_;
  std::int64_t length_ = 0;
  std::int64_t nulls_ = 0;
  KeptVector<std::uint8_t> validity_;  // empty: no value is null
  UnsetVector<std::byte> values_;      // of views and offsets: the bytes that they refer to
  UnsetVector<std::byte> slots_;       // offsets or views
};

}  // namespace garuda::expr
