#include "spill/dictionary_columns.hpp"

#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>

#include <span>
#include <utility>

#include "keys/codes/attribute_reader.hpp"

namespace garuda::spill {
namespace {

using Data = std::shared_ptr<arrow::ArrayData>;
using Type = std::shared_ptr<arrow::DataType>;

/// The nested `type` with other children.
Type with_children(Type const& type, arrow::FieldVector children) {
  switch (type->id()) {
    case arrow::Type::LIST:
      return arrow::list(children[0]);
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(children[0]);
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(children[0], static_cast<arrow::FixedSizeListType const&>(*type).list_size());
    case arrow::Type::LIST_VIEW:
      return arrow::list_view(children[0]);
    case arrow::Type::LARGE_LIST_VIEW:
      return arrow::large_list_view(children[0]);
    case arrow::Type::STRUCT:
      return arrow::struct_(std::move(children));
    case arrow::Type::MAP:
      return std::make_shared<arrow::MapType>(children[0], static_cast<arrow::MapType const&>(*type).keys_sorted());
    case arrow::Type::SPARSE_UNION:
      return arrow::sparse_union(std::move(children), static_cast<arrow::UnionType const&>(*type).type_codes());
    case arrow::Type::DENSE_UNION:
      return arrow::dense_union(std::move(children), static_cast<arrow::UnionType const&>(*type).type_codes());
    case arrow::Type::RUN_END_ENCODED:
      return arrow::run_end_encoded(children[0]->type(), children[1]->type());
    default:
      return type;
  }
}

/// `type` with indices of 32 bits in place of each dictionary in it; calls found(path, type) for these, in order.
template <class Found>
Type without_dictionaries(Type const& type, std::vector<int>& path, Found const& found) {
  if (type->id() == arrow::Type::DICTIONARY) {
    found(path, type);
    return arrow::int32();
  }
  auto children = type->fields();
  for (std::size_t c = 0; c < children.size(); ++c) {
    path.push_back(static_cast<int>(c));
    children[c] = children[c]->WithType(without_dictionaries(children[c]->type(), path, found));
    path.pop_back();
  }
  return children.empty() ? type : with_children(type, std::move(children));
}

arrow::ArrayData const& at(arrow::ArrayData const& data, std::span<int const> path) {
  return path.empty() ? data : at(*data.child_data[static_cast<std::size_t>(path[0])], path.subspan(1));
}

/// `data` with `other` where the path leads; the types above it stay as they are.
Data replaced(Data const& data, std::span<int const> path, Data other) {
  if (path.empty()) return other;
  auto copy = data->Copy();
  auto& child = copy->child_data[static_cast<std::size_t>(path[0])];
  child = replaced(child, path.subspan(1), std::move(other));
  return copy;
}

/// `data` as of `type`, whose children are of the types of its children.
Data typed(Data const& data, Type const& type) {
  if (data->child_data.empty()) return data;
  auto copy = data->Copy();
  copy->type = type;
  for (std::size_t c = 0; c < copy->child_data.size(); ++c)
    copy->child_data[c] = typed(copy->child_data[c], type->field(static_cast<int>(c))->type());
  return copy;
}

}  // namespace

Result<DictionaryColumns> DictionaryColumns::create(std::shared_ptr<arrow::Schema> schema, std::string sentence) {
  DictionaryColumns columns;
  columns.sentence_ = std::move(sentence);
  columns.schema_ = std::move(schema);
  arrow::FieldVector fields;
  for (auto const& field : columns.schema_->fields()) {
    auto const position = static_cast<int>(fields.size());
    std::vector<int> path;
    fields.push_back(
        field->WithType(without_dictionaries(field->type(), path, [&](auto const& found, Type const& type) {
          columns.columns_.push_back({position, found, type, nullptr, nullptr, nullptr, nullptr, std::nullopt, {}});
        })));
  }
  for (auto& column : columns.columns_) {
    auto const& type = static_cast<arrow::DictionaryType const&>(*column.type);
    GARUDA_ARROW_TRY_ASSIGN(column.unifier, arrow::DictionaryUnifier::Make(type.value_type(), io::memory_pool()),
                            ErrorCode::invalid_input,
                            columns.sentence_ + ": dictionaries of column '" +
                                columns.schema_->field(column.position)->name() + "' cannot be unified");
  }
  columns.spilled_schema_ = arrow::schema(std::move(fields));
  return columns;
}

arrow::Result<std::shared_ptr<arrow::Array>> DictionaryColumns::indices_of(Column& column,
                                                                           arrow::Array const& array) const {
  auto const& encoded = static_cast<arrow::DictionaryArray const&>(array);
  // Each array makes an object of its own of the dictionary that it shares with the batch before.
  auto const& dictionary = encoded.data()->dictionary;
  if (dictionary != column.last) {
    std::shared_ptr<arrow::Buffer> map;
    ARROW_RETURN_NOT_OK(column.unifier->Unify(*encoded.dictionary(), &map));
    column.transposed = std::make_shared<arrow::Int32Array>(dictionary->length, std::move(map));
    column.last = dictionary;
  }
  auto context = io::single_threaded();
  return arrow::compute::Take(*column.transposed, *encoded.indices(), arrow::compute::TakeOptions::NoBoundsCheck(),
                              &context);
}

void DictionaryColumns::hash_values(int position, DataType const& as) {
  for (auto& column : columns_)
    if (column.position == position && column.path.empty()) column.hashed_as = as;
}

std::vector<std::uint64_t> const* DictionaryColumns::hashes(int position) const noexcept {
  for (auto const& column : columns_)
    if (column.position == position && column.hashed_as) return &column.hashes;
  return nullptr;
}

/// Hashes the values of a batch whose dictionary is not that of the batch before. Requires: its indices were found.
Result<void> DictionaryColumns::hash_new_values(Column& column, arrow::Array const& array) const {
  auto const values = static_cast<arrow::DictionaryArray const&>(array).dictionary();
  auto const schema = arrow::schema({arrow::field(schema_->field(column.position)->name(), values->type())});
  GARUDA_TRY_ASSIGN(auto const table,
                    io::to_table(schema, {arrow::RecordBatch::Make(schema, values->length(), {values})}));
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(values->length()));
  GARUDA_TRY(keys::hash_key_column(table.view(), 0, *column.hashed_as, hashes));
  auto const& places = static_cast<arrow::Int32Array const&>(*column.transposed);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    auto const place = static_cast<std::size_t>(places.Value(static_cast<std::int64_t>(i)));
    if (place >= column.hashes.size()) column.hashes.resize(place + 1);
    column.hashes[place] = hashes[i];
  }
  return {};
}

/// `batch` with those of `columns` that have dictionaries, as `schema` has them.
Result<std::shared_ptr<arrow::RecordBatch>> DictionaryColumns::with_columns(
    std::shared_ptr<arrow::RecordBatch> batch, std::vector<std::shared_ptr<arrow::ArrayData>> const& columns,
    arrow::Schema const& schema) const {
  for (auto const& column : columns_) {
    auto const& field = schema.field(column.position);
    auto const array = arrow::MakeArray(typed(columns[static_cast<std::size_t>(column.position)], field->type()));
    GARUDA_ARROW_TRY_ASSIGN(batch, batch->SetColumn(column.position, field, array), ErrorCode::invalid_input,
                            sentence_);
  }
  return batch;
}

Result<std::shared_ptr<arrow::RecordBatch>> DictionaryColumns::detach(std::shared_ptr<arrow::RecordBatch> batch) {
  auto columns = batch->column_data();
  for (auto& column : columns_) {
    auto& data = columns[static_cast<std::size_t>(column.position)];
    auto const array = arrow::MakeArray(at(*data, column.path).Copy());
    auto const before = column.last;
    GARUDA_ARROW_TRY_ASSIGN(auto const indices, indices_of(column, *array), ErrorCode::invalid_input, sentence_);
    if (column.hashed_as && column.last != before) GARUDA_TRY(hash_new_values(column, *array));
    data = replaced(data, column.path, indices->data());
  }
  return with_columns(std::move(batch), columns, *spilled_schema_);
}

arrow::Status DictionaryColumns::finish_column(Column& column) {
  auto const& type = static_cast<arrow::DictionaryType const&>(*column.type);
  ARROW_RETURN_NOT_OK(column.unifier->GetResultWithIndexType(type.index_type(), &column.dictionary));
  column.unifier.reset();
  column.last.reset();
  column.transposed.reset();
  ARROW_ASSIGN_OR_RAISE(auto const bytes, arrow::util::ReferencedBufferSize(*column.dictionary));
  bytes_ += static_cast<std::uint64_t>(bytes);
  return arrow::Status::OK();
}

Result<void> DictionaryColumns::finish() {
  for (auto& column : columns_) GARUDA_ARROW_TRY(finish_column(column), ErrorCode::invalid_input, sentence_);
  return {};
}

Result<std::shared_ptr<arrow::RecordBatch>> DictionaryColumns::attach(std::shared_ptr<arrow::RecordBatch> batch) const {
  auto columns = batch->column_data();
  for (auto const& column : columns_) {
    auto& data = columns[static_cast<std::size_t>(column.position)];
    auto const encoded = [&]() -> arrow::Result<std::shared_ptr<arrow::Array>> {
      auto context = io::single_threaded();
      auto const& type = static_cast<arrow::DictionaryType const&>(*column.type);
      auto const spilled = arrow::MakeArray(at(*data, column.path).Copy());
      ARROW_ASSIGN_OR_RAISE(auto const indices, arrow::compute::Cast(*spilled, type.index_type(),
                                                                     arrow::compute::CastOptions::Safe(), &context));
      return arrow::DictionaryArray::FromArrays(column.type, indices, column.dictionary);
    };
    GARUDA_ARROW_TRY_ASSIGN(auto const array, encoded(), ErrorCode::invalid_input, sentence_);
    data = replaced(data, column.path, array->data());
  }
  return with_columns(std::move(batch), columns, *schema_);
}

}  // namespace garuda::spill
