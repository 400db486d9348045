#include "io/ipc/own_places.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace garuda::io {
namespace {

arrow::DataType const& stored_type(arrow::DataType const& type) {
  if (type.id() != arrow::Type::EXTENSION) return type;
  return stored_type(*static_cast<arrow::ExtensionType const&>(type).storage_type());
}

/// How many of an array's buffers, from the first on, are no values: validity, and what is behind it.
std::size_t num_places(arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::MAP:
    case arrow::Type::DICTIONARY:
    case arrow::Type::SPARSE_UNION:
      return 2;
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::DENSE_UNION:
      return 3;
    default:
      return 1;
  }
}

arrow::Status copy_buffers(arrow::ArrayData& array, std::size_t count) {
  for (std::size_t i = 0; i < count && i < array.buffers.size(); ++i) {
    auto& buffer = array.buffers[i];
    // A buffer of its own is not mapped: it was compressed, or not aligned.
    if (buffer == nullptr || buffer->parent() == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(buffer, buffer->CopySlice(0, buffer->size(), memory_pool()));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<OwnPlaces::Data> OwnPlaces::of(Data const& array) {
  auto own = std::make_shared<arrow::ArrayData>(*array);
  auto const& type = stored_type(*own->type);
  ARROW_RETURN_NOT_OK(copy_buffers(*own, num_places(type)));
  for (auto& child : own->child_data) {
    ARROW_ASSIGN_OR_RAISE(child, of(child));
  }
  if (type.id() == arrow::Type::RUN_END_ENCODED) ARROW_RETURN_NOT_OK(copy_buffers(*own->child_data.front(), 2));
  if (own->dictionary != nullptr) {
    auto& dictionary = present_[own->dictionary];
    if (auto const known = latest_.find(own->dictionary); known != latest_.end()) dictionary = known->second;
    if (dictionary == nullptr) {
      ARROW_ASSIGN_OR_RAISE(dictionary, of(own->dictionary));
    }
    own->dictionary = dictionary;
  }
  return own;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> OwnPlaces::of(arrow::RecordBatch const& batch) {
  std::vector<Data> columns;
  for (auto const& column : batch.column_data()) {
    ARROW_ASSIGN_OR_RAISE(auto own, of(column));
    columns.push_back(std::move(own));
  }
  latest_ = std::exchange(present_, {});
  return arrow::RecordBatch::Make(batch.schema(), batch.num_rows(), std::move(columns));
}

}  // namespace garuda::io
