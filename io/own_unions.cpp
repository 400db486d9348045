#include "io/own_unions.hpp"

#include <arrow/array/concatenate.h>

#include <algorithm>

#include "io/memory_pool.hpp"

namespace garuda::io {
namespace {

bool has_unions(arrow::DataType const& type) {
  return arrow::is_union(type.id()) ||
         std::ranges::any_of(type.fields(), [](auto const& child) { return has_unions(*child->type()); });
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_unions(std::shared_ptr<arrow::RecordBatch> batch) {
  for (int c = 0; c < batch->num_columns(); ++c) {
    if (!has_unions(*batch->schema()->field(c)->type())) continue;
    ARROW_ASSIGN_OR_RAISE(auto own, arrow::Concatenate({batch->column(c)}, memory_pool()));
    ARROW_ASSIGN_OR_RAISE(batch, batch->SetColumn(c, batch->schema()->field(c), std::move(own)));
  }
  return batch;
}

}  // namespace garuda::io
