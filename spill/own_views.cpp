#include "spill/own_views.hpp"

#include <arrow/array/builder_binary.h>
#include <arrow/builder.h>

#include <algorithm>
#include <utility>

namespace garuda::spill {
namespace {

bool has_views(arrow::Array const& array) {
  return array.type_id() == arrow::Type::STRING_VIEW || array.type_id() == arrow::Type::BINARY_VIEW;
}

/// Of the buffers that views refer to.
std::int64_t referred_bytes(arrow::Array const& array) {
  constexpr std::size_t kFirstOfValues = 2;
  std::int64_t bytes = 0;
  auto const& buffers = array.data()->buffers;
  for (auto b = kFirstOfValues; b < buffers.size(); ++b) bytes += buffers[b]->size();
  return bytes;
}

arrow::Result<std::shared_ptr<arrow::Array>> copied(arrow::BinaryViewArray const& views, std::int64_t bytes) {
  constexpr std::int64_t kMostBlockBytes = 1 << 20;
  ARROW_ASSIGN_OR_RAISE(auto const builder, arrow::MakeBuilder(views.type(), io::memory_pool()));
  auto& own = static_cast<arrow::BinaryViewBuilder&>(*builder);
  own.SetBlockSize(std::clamp<std::int64_t>(bytes, 1, kMostBlockBytes));
  ARROW_RETURN_NOT_OK(own.Reserve(views.length()));
  for (std::int64_t i = 0; i < views.length(); ++i)
    ARROW_RETURN_NOT_OK(views.IsNull(i) ? own.AppendNull() : own.Append(views.GetView(i)));
  return own.Finish();
}

}  // namespace

std::optional<std::int64_t> view_bytes(arrow::Array const& array) {
  if (!has_views(array)) return std::nullopt;
  auto const& views = static_cast<arrow::BinaryViewArray const&>(array);
  auto bytes = views.length() * std::int64_t{sizeof(arrow::BinaryViewType::c_type)};
  for (std::int64_t i = 0; i < views.length(); ++i) {
    auto const length = views.IsNull(i) ? 0 : static_cast<std::int64_t>(views.GetView(i).size());
    if (length > arrow::BinaryViewType::kInlineSize) bytes += length;
  }
  return bytes;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_views(std::shared_ptr<arrow::RecordBatch> batch) {
  for (int c = 0; c < batch->num_columns(); ++c) {
    auto const& column = *batch->column(c);
    auto const bytes = view_bytes(column);
    if (!bytes || referred_bytes(column) <= 2 * *bytes) continue;
    ARROW_ASSIGN_OR_RAISE(auto own, copied(static_cast<arrow::BinaryViewArray const&>(column), *bytes));
    ARROW_ASSIGN_OR_RAISE(batch, batch->SetColumn(c, batch->schema()->field(c), std::move(own)));
  }
  return batch;
}

}  // namespace garuda::spill
