// Parquet decoded by all threads: row groups and columns side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

/// True when all pages of the column chunks of leaf `leaf` refer to dictionaries that are small beside them, so that
/// codes are less than values.
bool has_codes(parquet::FileMetaData const& footer, int leaf);

/// How many values of leaf `leaf` differ, about, in any row group: by the bytes of its dictionaries, else by its least
/// and greatest integer; nullopt: the file does not say.
std::optional<std::uint64_t> estimated_values(parquet::FileMetaData const& footer, int leaf);

/// A top-level column.
struct LeafColumn {
  std::shared_ptr<arrow::Field> field;  ///< of the file
  std::vector<int> leaves;
  bool as_stored = false;
  std::shared_ptr<arrow::DataType> flat = nullptr;     ///< read_flat's type, if that is how it is read
  std::shared_ptr<arrow::DataType> decimal = nullptr;  ///< read_decimals' type, if that is how it is read else
  parquet::arrow::FileReader* reader = nullptr;        ///< which must not buffer ahead; may be shared
  arrow::io::RandomAccessFile* bytes = nullptr;        ///< that it reads; may be shared
};

/// Fails where the rows that pages gave are not those that the footer counts.
arrow::Status check_rows(std::int64_t read, std::int64_t counted);

/// Reads `columns` of `row_groups`, in their order, on `options.threads` threads. Neighbouring small row groups make
/// one batch. Fails with what the file is wrong in, OutOfMemory and Cancelled.
arrow::Result<ArrowBatches> read_columns(parquet::FileMetaData const& footer, std::vector<LeafColumn> const& columns,
                                         std::vector<int> const& row_groups, ReadOptions const& options);

/// decimal32 or decimal64 of the digits of `type`, where the values of a column that is not nested are such integers in
/// the file; nullptr: they are not.
std::shared_ptr<arrow::DataType> stored_decimal(parquet::ColumnDescriptor const& column, arrow::DataType const& type);

/// Reads leaf `leaf` of `row_groups` into one array of `type`, a stored_decimal. Thread-safe.
arrow::Result<std::shared_ptr<arrow::Array>> read_decimals(parquet::ParquetFileReader& file,
                                                           std::vector<int> const& row_groups, int leaf,
                                                           std::shared_ptr<arrow::DataType> const& type);

}  // namespace garuda::io
