#include "io/columns/view_columns.hpp"

#include <arrow/compute/cast.h>

#include <utility>

namespace garuda::io {

std::shared_ptr<arrow::DataType> offset_layout(std::shared_ptr<arrow::DataType> const& type) {
  switch (type->id()) {
    case arrow::Type::STRING_VIEW:
      return arrow::large_utf8();
    case arrow::Type::BINARY_VIEW:
      return arrow::large_binary();
    default:
      return type;
  }
}

arrow::Result<ArrowBatches> to_offset_layout(ArrowBatches batches) {
  auto context = single_threaded();
  for (auto& batch : batches) {
    for (int i = 0; i < batch->num_columns(); ++i) {
      auto const& field = batch->schema()->field(i);
      auto const type = offset_layout(field->type());
      if (type == field->type()) continue;
      ARROW_ASSIGN_OR_RAISE(auto const values, arrow::compute::Cast(*batch->column(i), type,
                                                                    arrow::compute::CastOptions::Safe(), &context));
      ARROW_ASSIGN_OR_RAISE(batch, batch->SetColumn(i, field->WithType(type), values));
    }
  }
  return batches;
}

}  // namespace garuda::io
