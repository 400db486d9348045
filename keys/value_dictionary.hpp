// Exact dictionaries: dense codes of the values of one column.
#pragma once

#include <cstdint>
#include <limits>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::keys {

/// Stands in the null slots of codes: they number at most 2^32 - 1 distinct values.
inline constexpr std::uint32_t kNullCode = std::numeric_limits<std::uint32_t>::max();

struct ColumnCodes {
  AlignedBuffer codes;          ///< rows of the table × u32, kNullCode in null slots
  std::uint32_t num_codes = 0;  ///< codes are below it
};

/// Numbers the distinct values of a column over all batches: equal values, and only they, get equal codes. Values are
/// compared byte by byte, those of a dictionary column through its dictionaries, floats in canonical form. In parallel
/// on the threads of the calling task arena.
/// Requires: the column exists, in memory that the host can read; its type is not a decimal, date or number, except as
/// the value type of a dictionary.
/// Errors: limit_exceeded (2^32 - 1 distinct values or more, naming the column), out_of_memory, cancelled.
Result<ColumnCodes> encode_values(TableView table, std::size_t column, Control const& control);

}  // namespace garuda::keys
