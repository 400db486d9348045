// Tables that many queries read, in a form that is smaller than what they stand for.
#pragma once

#include <cstdint>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/table.hpp"

namespace garuda {

struct StoreOptions {
  std::uint32_t threads = 0;  ///< of the host; 0: as many as it has, at most 4096
  Control control{};
};

/// A table for queries to scan (Query::scan(ScannedTable(stored))), with the rows of `table` in their batches. Strings
/// and binary become codes of a dictionary, ascending and each value once, where they have at most a quarter as many
/// values as rows; decimals of 128 bits take 32 or 64 where their digits fit. Queries give the types that `table` has.
/// Other columns are those of `table`, which must outlive the result where its batches do not own them. Blocks.
/// Errors: usage for a table on a device, or too many threads; out_of_memory, cancelled.
Result<StoredTable> store(TableView table, StoreOptions const& options = {});

}  // namespace garuda
