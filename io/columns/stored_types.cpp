#include "io/columns/stored_types.hpp"

#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/util/key_value_metadata.h>
#include <tbb/parallel_for.h>

#include <array>
#include <utility>

#include "core/task_threads.hpp"

namespace garuda::io {
namespace {

/// Key of a field's metadata that names the type which the field stands for.
constexpr auto kStandsFor = "garuda:stands_for";

std::shared_ptr<arrow::DataType> type_called(std::string const& name) {
  static std::array const kTypes{arrow::utf8(),   arrow::large_utf8(),   arrow::utf8_view(),
                                 arrow::binary(), arrow::large_binary(), arrow::binary_view()};
  for (auto const& type : kTypes)
    if (type->ToString() == name) return type;
  return nullptr;
}

/// nullptr: the field stands for itself.
std::shared_ptr<arrow::DataType> stands_for(arrow::Field const& field) {
  if (field.metadata() == nullptr || !field.metadata()->Contains(kStandsFor)) return nullptr;
  auto const& type = *field.type();
  if (type.id() == arrow::Type::DICTIONARY) return type_called(field.metadata()->Get(kStandsFor).ValueOr(""));
  if (type.id() != arrow::Type::DECIMAL32 && type.id() != arrow::Type::DECIMAL64) return nullptr;
  auto const& decimal = static_cast<arrow::DecimalType const&>(type);
  return arrow::decimal128(decimal.precision(), decimal.scale());
}

}  // namespace

std::shared_ptr<arrow::Field> stored_field(arrow::Field const& field, std::shared_ptr<arrow::DataType> const& type) {
  auto const metadata = arrow::key_value_metadata({kStandsFor}, {type->ToString()});
  return field.WithMergedMetadata(metadata);
}

std::shared_ptr<arrow::Field> decoded_field(std::shared_ptr<arrow::Field> const& field) {
  auto const type = stands_for(*field);
  if (type == nullptr) return field;
  auto const metadata = field->metadata()->Copy();
  static_cast<void>(metadata->Delete(kStandsFor));
  return field->WithType(type)->WithMetadata(metadata->size() == 0 ? nullptr : metadata);
}

std::shared_ptr<arrow::Schema> decoded_schema(arrow::Schema const& schema) {
  arrow::FieldVector fields;
  for (auto const& field : schema.fields()) fields.push_back(decoded_field(field));
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<arrow::Array>> decoded_column(std::shared_ptr<arrow::Field> const& stored,
                                                            std::shared_ptr<arrow::Array> const& column) {
  auto const type = stands_for(*stored);
  if (type == nullptr) return column;
  auto context = single_threaded();
  auto const safe = arrow::compute::CastOptions::Safe();
  if (column->type_id() != arrow::Type::DICTIONARY) return arrow::compute::Cast(*column, type, safe, &context);
  auto const& codes = static_cast<arrow::DictionaryArray const&>(*column);
  // The dictionary is the shorter of both, and what it becomes is gathered once. Arrow does not gather views.
  auto const gathered = type->id() == arrow::Type::STRING_VIEW   ? arrow::large_utf8()
                        : type->id() == arrow::Type::BINARY_VIEW ? arrow::large_binary()
                                                                 : type;
  ARROW_ASSIGN_OR_RAISE(auto const dictionary, arrow::compute::Cast(*codes.dictionary(), gathered, safe, &context));
  ARROW_ASSIGN_OR_RAISE(
      auto const values,
      arrow::compute::Take(*dictionary, *codes.indices(), arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return gathered == type ? values : arrow::compute::Cast(*values, type, safe, &context);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> decoded_batch(std::shared_ptr<arrow::RecordBatch> const& batch,
                                                                 std::uint32_t threads) {
  auto const schema = decoded_schema(*batch->schema());
  if (schema->Equals(*batch->schema(), true)) return batch;
  auto const count = static_cast<std::size_t>(batch->num_columns());
  std::vector<arrow::Result<std::shared_ptr<arrow::Array>>> columns(count);
  on_threads(threads, [&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
      auto const c = static_cast<int>(i);
      columns[i] = decoded_column(batch->schema()->field(c), batch->column(c));
    });
  });
  arrow::ArrayVector arrays;
  for (auto& column : columns) {
    ARROW_ASSIGN_OR_RAISE(auto array, std::move(column));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(arrays));
}

}  // namespace garuda::io
