// Hashes of keys by their values, whatever their types: rows that can match or share a group get equal hashes.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::spill {

/// Mixes the values of `column` into `hashes`, one a row. Values that compare equal as keys change equal hashes alike,
/// also when integers, dates or decimals of one scale come in types of different widths: -0.0 is 0.0, all NaNs are one
/// key, nulls are equal.
/// Requires: as many hashes as rows; no dictionary. Errors: out_of_memory.
Result<void> hash_key_column(ArrayView const& column, DataType const& type, std::span<std::uint64_t> hashes);

}  // namespace garuda::spill
