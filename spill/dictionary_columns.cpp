#include "spill/dictionary_columns.hpp"

#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>

#include <utility>

#include "keys/numbering/key_hash.hpp"

namespace garuda::spill {

Result<DictionaryColumns> DictionaryColumns::create(std::shared_ptr<arrow::Schema> schema, std::string sentence) {
  DictionaryColumns columns;
  columns.sentence_ = std::move(sentence);
  columns.schema_ = std::move(schema);
  arrow::FieldVector fields;
  for (auto const& field : columns.schema_->fields()) {
    auto const position = static_cast<int>(fields.size());
    fields.push_back(field);
    if (field->type()->id() != arrow::Type::DICTIONARY) continue;
    fields.back() = field->WithType(arrow::int32());
    auto const& type = static_cast<arrow::DictionaryType const&>(*field->type());
    GARUDA_ARROW_TRY_ASSIGN(auto unifier, arrow::DictionaryUnifier::Make(type.value_type(), io::memory_pool()),
                            ErrorCode::invalid_input,
                            columns.sentence_ + ": dictionaries of column '" + field->name() + "' cannot be unified");
    columns.columns_.push_back({position, field, std::move(unifier), nullptr, nullptr, nullptr, std::nullopt, {}});
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
    if (column.position == position) column.hashed_as = as;
}

std::vector<std::uint64_t> const* DictionaryColumns::hashes(int position) const noexcept {
  for (auto const& column : columns_)
    if (column.position == position && column.hashed_as) return &column.hashes;
  return nullptr;
}

/// Of a batch whose dictionary is not that of the batch before. Requires: its indices were found.
Result<void> DictionaryColumns::hash_new_values(Column& column, arrow::Array const& array) const {
  auto const values = static_cast<arrow::DictionaryArray const&>(array).dictionary();
  auto const schema = arrow::schema({arrow::field(column.field->name(), values->type())});
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

Result<std::shared_ptr<arrow::RecordBatch>> DictionaryColumns::detach(std::shared_ptr<arrow::RecordBatch> batch) {
  for (auto& column : columns_) {
    auto const before = column.last;
    GARUDA_ARROW_TRY_ASSIGN(auto const indices, indices_of(column, *batch->column(column.position)),
                            ErrorCode::invalid_input, sentence_);
    if (column.hashed_as && column.last != before) GARUDA_TRY(hash_new_values(column, *batch->column(column.position)));
    GARUDA_ARROW_TRY_ASSIGN(batch, batch->SetColumn(column.position, spilled_schema_->field(column.position), indices),
                            ErrorCode::invalid_input, sentence_);
  }
  return batch;
}

arrow::Status DictionaryColumns::finish_column(Column& column) {
  auto const& type = static_cast<arrow::DictionaryType const&>(*column.field->type());
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
  for (auto const& column : columns_) {
    auto const attached = [&]() -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
      auto context = io::single_threaded();
      auto const& type = static_cast<arrow::DictionaryType const&>(*column.field->type());
      ARROW_ASSIGN_OR_RAISE(auto const indices, arrow::compute::Cast(*batch->column(column.position), type.index_type(),
                                                                     arrow::compute::CastOptions::Safe(), &context));
      ARROW_ASSIGN_OR_RAISE(auto const array,
                            arrow::DictionaryArray::FromArrays(column.field->type(), indices, column.dictionary));
      return batch->SetColumn(column.position, column.field, array);
    };
    GARUDA_ARROW_TRY_ASSIGN(batch, attached(), ErrorCode::invalid_input, sentence_);
  }
  return batch;
}

}  // namespace garuda::spill
