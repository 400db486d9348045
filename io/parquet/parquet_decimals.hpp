// Decimals of Parquet that are integers, read as the integers that they are.
#pragma once

#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// decimal32 or decimal64 of the digits of `type`, where the values of a column that is not nested are such integers in
/// the file; nullptr: they are not.
std::shared_ptr<arrow::DataType> stored_decimal(parquet::ColumnDescriptor const& column, arrow::DataType const& type);

/// Reads leaf `leaf` of `row_groups` into one array of `type`, a stored_decimal. Thread-safe.
arrow::Result<std::shared_ptr<arrow::Array>> read_decimals(parquet::ParquetFileReader& file,
                                                           std::vector<int> const& row_groups, int leaf,
                                                           std::shared_ptr<arrow::DataType> const& type);

}  // namespace garuda::io
