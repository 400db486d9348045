// Which column types are compared with which.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::keys {

/// What the types of columns that are compared have in common.
struct CommonKeyType {
  DataType result;    ///< of a column that holds the keys of all; never a dictionary
  DataType compared;  ///< the type as which they are encoded. Where units or scales differ: a decimal, of seconds for
                      ///< dates and times, that holds more than `result` does, so that no key is out of range
};

/// Every type but intervals and nested ones; a dictionary counts as its values.
bool can_be_compared(DataType const& type) noexcept;
/// These, for sentences.
inline constexpr std::string_view kComparedTypes =
    "integers, booleans, floats, decimals, dates, times, timestamps, durations, strings, binary and dictionaries of "
    "them";

/// Of columns of any number. nullopt: there is no type that holds all values of all exactly. Requires: types.
std::optional<CommonKeyType> common_type_of(std::span<DataType const> types);

/// Integers, floats, decimals, dates, times, timestamps, durations, strings and binary are each widened to a type that
/// holds all values of both exactly; a dictionary counts as its values.
/// Errors: invalid_input, naming both columns and types, when there is none, or when a type cannot be a key.
Result<CommonKeyType> common_key_type(Field const& left, Field const& right);

/// Whether values of `from`, extended to the width of `to` by their sign, are the same values of type `to`: integers of
/// at most 128 bits, and what is stored as such.
bool extends_to(DataType const& from, DataType const& to) noexcept;

/// A fraction of what values of integers, decimals, dates and times count, so that they compare: value × multiple /
/// 10^scale are numbers, of dates and times seconds.
struct ValueScale {
  std::uint64_t multiple = 1;
  std::int32_t scale = 0;
};
ValueScale value_scale(DataType const& type) noexcept;

/// The failure (invalid_input) of a join whose key has a value beyond 64 bits in row `row` of its table.
tl::unexpected<Error> key_beyond_64_bits(Field const& field, std::uint64_t row);

}  // namespace garuda::keys
