// Hashes of keys by their codes, for tables that are seen a batch at a time.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {

/// Hash of a null key.
inline constexpr std::uint64_t kNullHash = 0x6A09'E667'F3BC'C908;

/// Hashes the keys of a column, one a row. Keys that are equal as values of type `as` have equal hashes: that is the
/// type as which both columns of a join are compared (CommonKeyType), or the column's own. Nulls are equal. Runs on the
/// calling thread.
/// Requires: as many hashes as rows; `as` is no dictionary. Errors: those of open_key_column; out_of_memory.
Result<void> hash_key_column(TableView table, std::size_t column, DataType const& as, std::span<std::uint64_t> hashes);

/// The hash of a row's keys up to one column, and that column's key.
constexpr std::uint64_t add_key_hash(std::uint64_t row, std::uint64_t key) noexcept { return mix(row ^ key); }

}  // namespace garuda::keys
