#include "io/columns/row_bytes.hpp"

#include "io/own_unions.hpp"

namespace garuda::io {
namespace {

std::int64_t view_bytes(arrow::ArrayData const& column) {
  auto const* const views = column.GetValues<arrow::BinaryViewType::c_type>(1);
  std::int64_t bytes = column.length * std::int64_t{sizeof(arrow::BinaryViewType::c_type)};
  bool const has_nulls = column.GetNullCount() > 0;  // what a null's view says means nothing
  for (std::int64_t i = 0; i < column.length; ++i)
    if (!views[i].is_inline() && !(has_nulls && column.IsNull(i))) bytes += views[i].size();
  return bytes;
}

std::int64_t column_bytes(arrow::ArrayData const& column) {
  auto const& type = *column.type;
  if (arrow::is_binary_view_like(type.id())) return view_bytes(column);
  if (arrow::is_fixed_width(type.id())) return column.length * type.bit_width() / 8 + 1;
  return referenced_bytes(column).ValueOr(0);
}

}  // namespace

std::int64_t row_bytes(arrow::RecordBatch const& batch) {
  std::int64_t bytes = 0;
  for (auto const& column : batch.column_data()) bytes += column_bytes(*column);
  return bytes;
}

}  // namespace garuda::io
