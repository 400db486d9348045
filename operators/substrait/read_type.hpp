// Types of Substrait as column types.
#pragma once

#include <cstddef>

#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "operators/substrait/message.hpp"

namespace garuda::substrait {

/// The column type of a message `Type`. The variations of types are those of DataFusion: unsigned integers, strings
/// with 64-bit offsets or as views, dates in milliseconds, decimals of 256 bits.
/// Errors: usage for a type that has no column type here, naming it.
Result<DataType> read_type(Message const& type);

/// Whether a type is a decimal of at most 128 bits, as expressions compute with.
bool is_decimal(DataType const& type) noexcept;

/// The number of names that the fields inside a type have in a list of names, which goes into structs first.
/// Errors: invalid_input for types nested too deep.
Result<std::size_t> count_inner_names(Message const& type, std::size_t depth);

/// The unit of so many digits after a second's point. Errors: usage for another number than 0, 3, 6 and 9.
Result<TimeUnit> unit_of(std::uint64_t precision);

}  // namespace garuda::substrait
