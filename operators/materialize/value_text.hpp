// Single values as text, for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "garuda/table.hpp"

namespace garuda::materialize {

/// The value of a column at a row of the table: `null`, `17`, `-0.05`, `'text'`; dates and times as their numbers,
/// binary in hexadecimal digits. Requires: the row exists, in memory that the host can read.
std::string value_text(TableView table, std::size_t column, std::uint64_t row);

}  // namespace garuda::materialize
