// Exact dictionaries: dense codes of the values of columns, of lists of values by their bytes, and in the order of
// these.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/numbering/value_table.hpp"

namespace garuda::keys {

/// Codes of a list of values.
struct ValueCodes {
  AlignedBuffer codes;          ///< u32 a value; kNullCode: null
  std::uint64_t num_codes = 0;  ///< from kNullCode on, codes are unspecified
};

/// Numbers the distinct values from 0, the same numbers in every run. In parallel on the threads of the calling task
/// arena: with a table a thread while there are few distinct values, otherwise by sections of their hashes, one table a
/// section. Each value is hashed once. Values of one hash are told apart by their bytes: codes are exact whatever the
/// hash does, of which `hash_bits` bits are kept. Throws std::bad_alloc. Errors: out_of_memory, cancelled.
Result<ValueCodes> number_values(ValueBytes const& values, Control const& control, std::uint32_t hash_bits = 64);

/// A position of each code, one of those that have it: their values have the same bytes. `codes`: below `num_codes`, or
/// kNullCode. In parallel on the threads of the calling task arena. Throws std::bad_alloc. Errors: cancelled.
Result<std::vector<std::uint64_t>> heads_of(std::span<std::uint32_t const> codes, std::uint64_t num_codes,
                                            Control const& control);

struct ColumnCodes {
  /// The memory of `codes`; columns encoded together share one. nullptr: codes are the column's own indices.
  std::shared_ptr<AlignedBuffer const> memory;
  std::uint32_t const* codes = nullptr;  ///< one a row, kNullCode in null slots
  std::uint32_t num_codes = 0;           ///< codes are below it
  bool has_nulls = true;                 ///< false: no row has kNullCode
};

/// The relation of codes to the order of their values.
enum class CodeOrder : std::uint8_t {
  any,        ///< which are equal
  ascending,  ///< which is less, too: the distinct values are sorted by their bytes, decimals of 256 bits by value
};

/// Numbers the distinct values of all columns together, each over all its batches: equal values, and only they, get
/// equal codes. Values are compared byte by byte, those of a dictionary column through its dictionaries, floats in
/// canonical form. Indices of a dictionary that has each value once may be the codes: then they borrow the column. In
/// parallel on the threads of the calling task arena. `hash_bits`: as number_values takes them.
/// Requires: columns that the host can read, of types whose equal values have equal bytes; ascending codes: of strings,
/// binary or decimals of 256 bits.
/// Errors: limit_exceeded (2^32 - 1 distinct values or more, naming the column), out_of_memory, cancelled.
Result<std::vector<ColumnCodes>> encode_values(std::span<KeyColumn const> columns, Control const& control,
                                               std::uint32_t hash_bits = 64, CodeOrder order = CodeOrder::any);

/// The distinct values of a column by their bytes, among which those of other columns are looked up. Immutable.
class ValueNumbers {
 public:
  /// `codes`: of `values`, by number_values, fewer than kNullCode - 1. Borrows what `values` borrow. In parallel on the
  /// threads of the calling task arena. Throws std::bad_alloc. Errors: cancelled.
  static Result<ValueNumbers> create(ValueBytes values, ValueCodes const& codes, Control const& control);

  /// The code of a value that is not among them, behind all others.
  std::uint32_t other() const noexcept { return static_cast<std::uint32_t>(heads_.size()); }
  std::uint64_t owned_bytes() const noexcept { return 8 * (heads_.size() + slots_.size()) + values_.copied_bytes(); }
  /// Codes of `values`, a u32 each, kNullCode for nulls. In parallel on the threads of the calling task arena. Errors:
  /// out_of_memory, cancelled.
  Result<AlignedBuffer> look_up(ValueBytes const& values, Control const& control) const;

 private:
  std::uint32_t find(std::string_view bytes) const noexcept;

  ValueBytes values_;
  std::vector<std::uint64_t> heads_;  ///< by code: a value that has it
  std::vector<std::uint64_t> slots_;  ///< the upper half of a hash above a code; a power of two, at most half in use
};

/// The codes of a column, and its values for look_up_values.
struct NumberedColumn {
  ColumnCodes codes;
  std::shared_ptr<ValueNumbers const> numbers;
};

/// Numbers the distinct values of a column as encode_values does, and keeps them; borrows the column. Requires and
/// errors: those of encode_values. Throws std::bad_alloc.
Result<NumberedColumn> number_column(KeyColumn const& column, Control const& control);

/// The codes of a column's values among those of another, numbers.other() where there is no such value; num_codes
/// counts that one, too. Requires: the columns were opened to be compared as one type. Errors: out_of_memory,
/// cancelled.
Result<ColumnCodes> look_up_values(KeyColumn const& column, ValueNumbers const& numbers, Control const& control);

}  // namespace garuda::keys
