// Memory that a gathered value of a column takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "garuda/table.hpp"

namespace garuda::materialize {

/// Bytes of a value of a column of strings behind offsets, on average.
double mean_value_bytes(TableView table, std::size_t column);

/// Bytes of one gathered value of a column, estimated from its type and, for strings and binary, from their mean
/// length.
std::uint64_t column_row_bytes(TableView table, std::size_t column);

}  // namespace garuda::materialize
