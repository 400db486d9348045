// Columns of Parquet without nulls, decoded page by page straight to where they stay.
#pragma once

#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Whether leaf `leaf` may be read by read_flat as `type`: its values have the layout of the type, or the type is a
/// dictionary of strings or binary with indices of 32 bits, or views of them, the column is not nested, and by the
/// footer no value is null.
bool may_be_flat(parquet::FileMetaData const& footer, int leaf, arrow::DataType const& type);

/// Reads a leaf of `row_groups`, which may_be_flat, of a file and its bytes: one array, or of dictionaries one a row
/// group. nullptr: pages are not what the footer says, or not what is read here, so that Arrow is to read them, or to
/// say what is wrong. The values are valid. Thread-safe. Fails and throws as Parquet's lower layers do.
arrow::Result<std::shared_ptr<arrow::ChunkedArray>> read_flat(parquet::ParquetFileReader& file,
                                                              arrow::io::RandomAccessFile& bytes,
                                                              std::vector<int> const& row_groups, int leaf,
                                                              std::shared_ptr<arrow::DataType> const& type);

}  // namespace garuda::io
