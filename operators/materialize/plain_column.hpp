// Columns whose values are copied as they are: they can be carried through a partitioning.
#pragma once

#include <cstddef>

#include "garuda/table.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::materialize {

/// True when values of `column` are copied as they are, `byte_width` bytes each: a type of 1, 2, 4, 8 or 16 bytes other
/// than booleans and dictionaries, and no nulls.
bool is_plain(TableView table, std::size_t column);

/// The values of a plain column, by row.
partition::PayloadColumn payload_column(TableView table, std::size_t column);

}  // namespace garuda::materialize
