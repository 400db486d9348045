// Column types as the format strings of the Arrow C data interface, and back.
#pragma once

#include <string>
#include <string_view>

#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda {

/// Returns the type that `format` stands for; never a dictionary, which has no format string of its own.
/// Errors: invalid_input, when the string is malformed, a parameter is out of its range, or the type is not supported
/// (null, nested, view and run-end encoded types, decimal256); the sentence does not name the column.
/// Source: Arrow C data interface, "Data type description -- format strings".
Result<DataType> parse_format(std::string_view format);

/// The format string of `type`; of a dictionary: that of its indices.
std::string format_string(DataType const& type);

}  // namespace garuda
