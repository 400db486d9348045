#include "io/own_unions.hpp"

#include <arrow/array/concatenate.h>

#include <algorithm>

#include "io/arrow_bridge.hpp"

namespace garuda::io {
namespace {

bool has_unions(arrow::DataType const& type) {
  return arrow::is_union(type.id()) ||
         std::ranges::any_of(type.fields(), [](auto const& child) { return has_unions(*child->type()); });
}

/// Returns `column`, at any depth with empty buffers where unions have none.
std::shared_ptr<arrow::ArrayData> with_buffers_of_unions(arrow::ArrayData const& column) {
  auto whole = column.Copy();
  for (auto& child : whole->child_data) child = with_buffers_of_unions(*child);
  if (!arrow::is_union(column.type->id())) return whole;
  for (std::size_t i = 1; i < whole->buffers.size(); ++i)
    if (whole->buffers[i] == nullptr) whole->buffers[i] = std::make_shared<arrow::Buffer>(nullptr, 0);
  return whole;
}

}  // namespace

arrow::Result<std::int64_t> referenced_bytes(arrow::ArrayData const& column) {
  return arrow::util::ReferencedBufferSize(*arrow::MakeArray(with_buffers_of_unions(column)));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_unions(std::shared_ptr<arrow::RecordBatch> batch) {
  for (int c = 0; c < batch->num_columns(); ++c) {
    if (!has_unions(*batch->schema()->field(c)->type())) continue;
    ARROW_ASSIGN_OR_RAISE(auto own, arrow::Concatenate({batch->column(c)}, memory_pool()));
    ARROW_ASSIGN_OR_RAISE(batch, batch->SetColumn(c, batch->schema()->field(c), std::move(own)));
  }
  return batch;
}

}  // namespace garuda::io
