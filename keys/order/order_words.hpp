// Columns as words of the order of their values, to be compared with each other and with constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::keys {

/// Where a constant stands among the values that there are.
enum class Place : std::uint8_t {
  below,  ///< it is less than all of them
  at,     ///< it is one of them
  above,  ///< it is greater than one of them, less than the next
};

struct ColumnOfTable {
  TableView table;
  std::size_t column = 0;
};

/// Columns and constants that are compared with each other.
struct OrderRequest {
  std::span<ColumnOfTable const> columns;    ///< at least one
  std::span<ColumnOfTable const> constants;  ///< columns of one row, which is not null
  DataType as;                               ///< in which they are compared: CommonKeyType::compared of all their types
  bool compares_columns = true;              ///< else columns are compared with constants alone
  bool compares_order = true;                ///< else only whether values are equal
};

struct OrderedColumn {
  /// A word a row of the table, all columns' of one width. Words of null rows are unspecified.
  std::variant<std::span<std::uint32_t const>, std::span<std::uint64_t const>> words;
  AlignedBuffer owned_words;  ///< empty: the words are the table's, or in OrderedWords::memory
  AlignedBuffer valid;        ///< u64 words, bit i of word i / 64: row i is not null; empty: no row is
};

struct ConstantWord {
  Place place = Place::at;
  std::uint64_t word = 0;  ///< that it is at or above
};

struct OrderedWords {
  std::vector<OrderedColumn> columns;  ///< as requested
  std::vector<ConstantWord> constants;
  std::vector<std::shared_ptr<AlignedBuffer const>> memory;  ///< of words that columns have in common
};

/// Makes words that, as unsigned numbers, compare as the values of `request` do: numbers, dates and times by value,
/// false before true, -0.0 equal to 0.0, NaN the largest float and equal to itself, strings and binary by their bytes;
/// 32 bits where the ranges of all columns together fit. Values without codes of 64 bits are ranks among all values of
/// the request, or, where only constants are compared with, among these. Borrows a column that has such words already.
/// Runs on the threads of the calling task arena. Errors: invalid_input, naming the column (in device memory, or with a
/// value that cannot be widened); limit_exceeded (2^32 - 1 distinct values or more), out_of_memory, cancelled.
Result<OrderedWords> encode_order(OrderRequest const& request, Control const& control);

}  // namespace garuda::keys
