// Chooses the row groups of a Parquet file that may have rows that are wanted.
#pragma once

#include <cstdint>

#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

/// Whether the statistics of a column's values tell what WantedValues asks for.
bool has_integer_statistics(arrow::DataType const& type) noexcept;

/// Whether a row group may have a row that `wanted` names, by the statistics of leaf `leaf`, a column that is not
/// nested and of such a type; true where they do not say. Throws as Parquet's lower layers do.
bool may_have(parquet::RowGroupMetaData const& row_group, int leaf, WantedValues const& wanted);

}  // namespace garuda::io
