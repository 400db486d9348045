#include "io/parquet/parquet_decimals.hpp"

#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <utility>

namespace garuda::io {

std::shared_ptr<arrow::DataType> stored_decimal(parquet::ColumnDescriptor const& column, arrow::DataType const& type) {
  if (type.id() != arrow::Type::DECIMAL128 || column.max_repetition_level() > 0 || column.max_definition_level() > 1)
    return nullptr;
  auto const& decimal = static_cast<arrow::DecimalType const&>(type);
  if (column.physical_type() == parquet::Type::INT32 && decimal.precision() <= arrow::Decimal32Type::kMaxPrecision)
    return arrow::decimal32(decimal.precision(), decimal.scale());
  if (column.physical_type() == parquet::Type::INT64 && decimal.precision() <= arrow::Decimal64Type::kMaxPrecision)
    return arrow::decimal64(decimal.precision(), decimal.scale());
  return nullptr;
}

arrow::Result<std::shared_ptr<arrow::Array>> read_decimals(parquet::ParquetFileReader& file,
                                                           std::vector<int> const& row_groups, int leaf,
                                                           std::shared_ptr<arrow::DataType> const& type) {
  auto const& footer = *file.metadata();
  auto const* const column = footer.schema()->Column(leaf);
  auto const levels = parquet::internal::LevelInfo::ComputeLevelInfo(column);
  auto const reader = parquet::internal::RecordReader::Make(column, levels, memory_pool());
  std::int64_t rows = 0;
  for (int const row_group : row_groups) rows += footer.RowGroup(row_group)->num_rows();
  reader->Reserve(rows);
  for (int const row_group : row_groups) {
    reader->SetPageReader(file.RowGroup(row_group)->GetColumnPageReader(leaf));
    auto const wanted = footer.RowGroup(row_group)->num_rows();
    if (reader->ReadRecords(wanted) != wanted)
      return arrow::Status::Invalid("column '", column->name(), "' has fewer values than its row group rows");
  }
  auto const nulls = column->max_definition_level() == 0 ? 0 : reader->null_count();
  std::shared_ptr<arrow::Buffer> valid;
  if (column->max_definition_level() > 0) valid = reader->ReleaseIsValid();
  if (nulls == 0) valid = nullptr;
  std::shared_ptr<arrow::Buffer> values = reader->ReleaseValues();
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {std::move(valid), std::move(values)}, nulls));
}

}  // namespace garuda::io
