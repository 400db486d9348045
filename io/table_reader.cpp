#include "io/table_reader.hpp"

#include <utility>

#include "io/file_columns.hpp"
#include "io/file_dictionaries.hpp"
#include "io/file_format.hpp"
#include "io/file_reader.hpp"
#include "io/stored_types.hpp"

namespace garuda::io {
namespace {

/// Names the types of `schema` where columns come as they are stored.
std::shared_ptr<arrow::RecordBatch> with_types(arrow::RecordBatch const& batch, arrow::Schema const& schema) {
  auto fields = batch.schema()->fields();
  for (int i = 0; i < batch.num_columns(); ++i) {
    auto& field = fields[static_cast<std::size_t>(i)];
    auto const& type = schema.field(i)->type();
    if (!field->type()->Equals(type) && type->id() != arrow::Type::NA) field = stored_field(*field, type);
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), batch.columns());
}

}  // namespace

Result<std::vector<FileField>> read_fields(std::filesystem::path const& path) {
  GARUDA_TRY_ASSIGN(auto const reader, open_reader(path));
  std::vector<FileField> fields;
  for (auto const& field : reader->schema()->fields()) {
    auto const plain = plain_field(*field);
    FileField file_field{field->name(), field->type()->ToString(), std::nullopt};
    if (plain->type()->id() == arrow::Type::NA && format_of(path) == FileFormat::csv) {
      file_field.field = Field{field->name(), DataType{TypeId::utf8}};
      file_field.without_values = true;
    } else if (auto known = to_field(*plain)) {
      file_field.field = *std::move(known);
    }
    fields.push_back(std::move(file_field));
  }
  return fields;
}

Result<Table> read_table(std::filesystem::path const& path, ReadOptions const& options) {
  GARUDA_EXPECTS(!options.columns || !options.columns->empty());
  auto const sentence = "cannot read " + path.string();
  GARUDA_TRY_ASSIGN(auto const reader, open_reader(path));
  auto columns = chosen_columns(*reader->schema(), options);
  // The file can be read; what is asked of it is not there.
  if (!columns) return tl::unexpected(std::move(columns).error().wrap(path.string()));
  auto schema = select(*reader->schema(), *columns);
  GARUDA_TRY(check_types(*schema, sentence));
  GARUDA_TRY_ASSIGN(auto batches, reader->read(*columns, options));
  for (auto& batch : batches) batch = plain_batch(*batch);
  if (options.as_stored)
    for (auto& batch : batches) batch = with_types(*batch, *schema);
  FileDictionaries dictionaries;
  // The files come from anywhere, and what follows trusts offsets and indices.
  GARUDA_ARROW_TRY(dictionaries.validate(batches, options.threads, options.cancelled), ErrorCode::invalid_input,
                   sentence);
  GARUDA_ARROW_TRY_ASSIGN(batches, dictionaries.without_null_values(std::move(batches)), ErrorCode::invalid_input,
                          sentence);
  GARUDA_ARROW_TRY_ASSIGN(batches, unify_dictionaries(std::move(batches)), ErrorCode::invalid_input, sentence);
  // The types of a CSV file are known only now.
  if (!batches.empty()) schema = batches.front()->schema();
  auto table = to_table(schema, std::move(batches));
  if (!table) return tl::unexpected(std::move(table).error().wrap(sentence));
  return table;
}

Result<void> limit_arrow_threads(std::uint32_t threads) {
  GARUDA_EXPECTS(threads >= 1);
  GARUDA_ARROW_TRY(arrow::SetCpuThreadPoolCapacity(static_cast<int>(threads)), ErrorCode::usage,
                   "cannot limit the threads of Arrow");
  return {};
}

}  // namespace garuda::io
