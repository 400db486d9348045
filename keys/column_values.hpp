// The values that a column's rows refer to.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/value_bytes.hpp"

namespace garuda::keys {

/// A column's values: its own, then value i is that of row i; or those of its dictionaries, each distinct one once.
struct ColumnValues {
  ValueBytes bytes;
  std::vector<std::uint64_t> first_value;  ///< of dictionaries: per batch, first value of its dictionary; else empty
};

/// Borrows the table. Requires: the column exists, in memory that the host can read. Errors: out_of_memory.
Result<ColumnValues> values_of(TableView table, std::size_t column);

}  // namespace garuda::keys
