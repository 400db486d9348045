// Exact dictionaries: dense codes of the values of columns.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/codes/key_column.hpp"

namespace garuda::keys {

/// Stands in the null slots of codes: they number at most 2^32 - 1 distinct values.
inline constexpr std::uint32_t kNullCode = std::numeric_limits<std::uint32_t>::max();

struct ColumnCodes {
  /// That of `codes`; columns numbered together share one. nullptr: codes are the column's own indices.
  std::shared_ptr<AlignedBuffer const> memory;
  std::uint32_t const* codes = nullptr;  ///< one a row, kNullCode in null slots
  std::uint32_t num_codes = 0;           ///< codes are below it
  bool has_nulls = true;                 ///< false: no row has kNullCode
};

/// What codes tell of their values.
enum class CodeOrder : std::uint8_t {
  any,        ///< which are equal
  ascending,  ///< which is less, too, by ValueOrder: the distinct values are sorted
};

/// Numbers the distinct values of all columns together, each over all its batches: equal values, and only they, get
/// equal codes. Values are compared byte by byte, those of a dictionary column through its dictionaries, floats in
/// canonical form. Indices of a dictionary that has each value once may be the codes: then they borrow the column. In
/// parallel on the threads of the calling task arena. `hash_bits`: as number_values takes them.
/// Requires: columns that the host can read, of types whose equal values have equal bytes; ascending codes: of types
/// that ValueOrder knows.
/// Errors: limit_exceeded (2^32 - 1 distinct values or more, naming the column), out_of_memory, cancelled.
Result<std::vector<ColumnCodes>> encode_values(std::span<KeyColumn const> columns, Control const& control,
                                               std::uint32_t hash_bits = 64, CodeOrder order = CodeOrder::any);

}  // namespace garuda::keys
