// Hashes of keys by their codes, for tables that are seen a batch at a time.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::keys {

/// Mixes the keys of a column into `hashes`, one a row. Keys that are equal as values of type `as` change equal hashes
/// alike: that is the type as which both columns of a join are encoded (common_key_type), or the column's own. Nulls
/// are equal. Runs on the calling thread.
/// Requires: as many hashes as rows; no dictionary. Errors: invalid_input for a column in device memory; out_of_memory.
Result<void> hash_key_column(TableView table, std::size_t column, DataType const& as, std::span<std::uint64_t> hashes);

}  // namespace garuda::keys
