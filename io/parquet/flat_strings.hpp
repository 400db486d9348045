// Strings of Parquet without nulls: as codes of dictionaries, or as views of the pages that hold them.
#pragma once

#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/parquet/flat_pages.hpp"

namespace garuda::io {

/// The codes of a row group's column chunk whose pages all refer to its dictionary, as `type`, a dictionary of strings
/// or binary with indices of 32 bits. Codes and values are valid. nullptr: pages are something else. Thread-safe.
/// Fails where the dictionary is not valid, and throws as Parquet's lower layers do.
arrow::Result<std::shared_ptr<arrow::Array>> read_codes(ColumnSource source, int row_group, int leaf,
                                                        std::shared_ptr<arrow::DataType> const& type);

/// The strings of column chunks as `type`, views of strings or binary: of decompressed pages, which the array keeps.
/// They are valid. nullptr: pages are something else. Thread-safe. Throws as Parquet's lower layers do.
arrow::Result<std::shared_ptr<arrow::Array>> read_views(ColumnSource source, std::vector<int> const& row_groups,
                                                        int leaf, std::shared_ptr<arrow::DataType> const& type);

}  // namespace garuda::io
