#include "garuda/table.hpp"

#include <utility>

#include "core/bitmap.hpp"

namespace garuda {

std::int64_t count_nulls(ArrayView const& array) noexcept {
  if (array.validity == nullptr) return 0;
  if (array.null_count >= 0) return array.null_count;
  return array.length - count_ones(array.validity, array.offset, array.length);
}

ArrayView slice(ArrayView const& array, std::int64_t begin, std::int64_t length) {
  GARUDA_EXPECTS(begin >= 0 && length >= 0 && begin <= array.length && length <= array.length - begin);
  auto part = array;
  part.offset += begin;
  part.length = length;
  if (array.validity == nullptr) {
    part.null_count = 0;
  } else if (array.null_count == array.length) {
    part.null_count = length;
  } else if (array.null_count != 0 && length != array.length) {
    part.null_count = -1;
  }
  return part;
}

TableView::TableView(Schema const& schema, std::span<BatchView const> batches, device::DeviceTableState const* resident)
    : schema_(&schema), batches_(batches), resident_(resident) {
  for (auto const& batch : batches) {
    GARUDA_EXPECTS(batch.columns.size() == schema.size());
    GARUDA_EXPECTS(batch.num_rows >= 0);
    for (auto const& column : batch.columns) GARUDA_EXPECTS(column.length == batch.num_rows);
    num_rows_ += batch.num_rows;
  }
}

Table::Table(Schema schema, std::vector<Batch> batches)
    : schema_(std::make_unique<Schema const>(std::move(schema))), batches_(std::move(batches)) {
  batch_views_.reserve(batches_.size());
  for (auto const& batch : batches_) batch_views_.push_back(batch.view());
  view_ = TableView(*schema_, batch_views_);
}

Result<Table> collect(BatchStream& stream) {
  std::vector<Batch> batches;
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, stream.next());
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  return Table(stream.schema(), std::move(batches));
}

}  // namespace garuda
