// Which column types are compared with which.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::keys {

/// The type in which two key columns are compared.
/// Errors: invalid_input, naming both columns and types, when they are neither equal nor safely widened to one another
/// (an integer type into one that holds all its values; decimals of one scale), or when a type cannot be a key.
Result<DataType> common_key_type(Field const& left, Field const& right);

/// The failure (invalid_input) of a join whose key has a value beyond 64 bits in row `row` of its table.
tl::unexpected<Error> key_beyond_64_bits(Field const& field, std::uint64_t row);

}  // namespace garuda::keys
