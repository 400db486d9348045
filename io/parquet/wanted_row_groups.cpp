#include "io/parquet/wanted_row_groups.hpp"

#include <parquet/metadata.h>
#include <parquet/statistics.h>

namespace garuda::io {

bool has_integer_statistics(arrow::DataType const& type) noexcept {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::DATE32:
      return true;
    default:  // of others values are stored in another unit or order, or not as integers
      return false;
  }
}

bool may_have(parquet::RowGroupMetaData const& row_group, int leaf, WantedValues const& wanted) {
  auto const chunk = row_group.ColumnChunk(leaf);
  auto const statistics = chunk->statistics();
  if (statistics == nullptr || !statistics->HasNullCount()) return true;
  auto const nulls = statistics->null_count();
  if (wanted.or_null && nulls > 0) return true;
  if (!statistics->HasMinMax()) return nulls < chunk->num_values();
  auto const overlaps = [&](auto const& typed) {
    return std::int64_t{typed.min()} <= wanted.greatest && std::int64_t{typed.max()} >= wanted.least;
  };
  switch (chunk->type()) {
    case parquet::Type::INT32:
      return overlaps(static_cast<parquet::Int32Statistics const&>(*statistics));
    case parquet::Type::INT64:
      return overlaps(static_cast<parquet::Int64Statistics const&>(*statistics));
    default:
      return true;
  }
}

}  // namespace garuda::io
