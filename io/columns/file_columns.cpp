#include "io/columns/file_columns.hpp"

#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <utility>

#include "core/os/file.hpp"
#include "io/columns/stored_types.hpp"
#include "io/file_dictionaries.hpp"
#include "io/file_format.hpp"

namespace garuda::io {
namespace {

Error unreadable(std::string const& path, std::string reason) {
  return Error(ErrorCode::invalid_input, std::move(reason)).wrap("cannot read " + path);
}

Result<InputFile> open_input(std::filesystem::path const& path) {
  InputFile input{path.string(), nullptr};
  auto const opened = os::open_input(path);
  if (opened.file.descriptor < 0)
    return tl::unexpected(unreadable(input.path, os::system_message(opened.file.error_number)));
  if (opened.kind != os::FileKind::regular || opened.bytes == 0) {
    os::close_file(opened.file.descriptor);
    return tl::unexpected(unreadable(input.path, opened.kind == os::FileKind::folder    ? "it is a folder"
                                                 : opened.kind == os::FileKind::regular ? "it is empty"
                                                                                        : "it is not a regular file"));
  }
  // The descriptor is the file's from here on, also when this fails.
  GARUDA_ARROW_TRY_ASSIGN(input.file, arrow::io::ReadableFile::Open(opened.file.descriptor, memory_pool()),
                          ErrorCode::invalid_input, input.sentence());
  return input;
}

/// Positions of the columns called `names`, ascending, each once.
Result<std::vector<int>> find_columns(arrow::Schema const& schema, std::vector<std::string> const& names) {
  Schema known;
  for (auto const& field : schema.fields()) known.push_back(Field{field->name(), {}});
  std::set<int> columns;
  for (auto const& name : names) {
    GARUDA_TRY_ASSIGN(auto const column, find_column(known, name));
    columns.insert(static_cast<int>(column));
  }
  return std::vector<int>(columns.begin(), columns.end());
}

std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> const& type) {
  if (type->id() != arrow::Type::EXTENSION) return type;
  return storage_type(static_cast<arrow::ExtensionType const&>(*type).storage_type());
}

std::shared_ptr<arrow::Array> storage_array(std::shared_ptr<arrow::Array> const& array) {
  if (array->type_id() != arrow::Type::EXTENSION) return array;
  return storage_array(static_cast<arrow::ExtensionArray const&>(*array).storage());
}

}  // namespace

Result<std::unique_ptr<FileReader>> open_reader(std::filesystem::path const& path) {
  GARUDA_TRY_ASSIGN(auto const format, format_of(path));
  GARUDA_TRY_ASSIGN(auto input, open_input(path));
  switch (format) {
    case FileFormat::parquet:
      return open_parquet(std::move(input));
    case FileFormat::ipc:
      return open_ipc(std::move(input));
    case FileFormat::csv:
      return open_csv(std::move(input));
  }
  return fail(ErrorCode::usage, "unknown file format");
}

Result<std::vector<int>> chosen_columns(arrow::Schema const& schema, ReadOptions const& options) {
  if (options.columns) return find_columns(schema, *options.columns);
  if (schema.num_fields() == 0) return fail(ErrorCode::invalid_input, "no columns");
  std::vector<int> columns(static_cast<std::size_t>(schema.num_fields()));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int>(i);
  return columns;
}

/// An extension type becomes what the Arrow C interface makes of it: its storage, named in the field's metadata. Ids of
/// a Parquet file's columns are its own.
std::shared_ptr<arrow::Field> plain_field(arrow::Field const& field) {
  auto const metadata = field.HasMetadata() ? field.metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
  static_cast<void>(metadata->Delete("PARQUET:field_id"));
  if (field.type()->id() == arrow::Type::EXTENSION) {
    auto const& extension = static_cast<arrow::ExtensionType const&>(*field.type());
    metadata->Append("ARROW:extension:name", extension.extension_name());
    metadata->Append("ARROW:extension:metadata", extension.Serialize());
  }
  return arrow::field(field.name(), storage_type(field.type()), field.nullable(),
                      metadata->size() == 0 ? nullptr : metadata);
}

std::shared_ptr<arrow::RecordBatch> plain_batch(arrow::RecordBatch const& batch) {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    fields.push_back(plain_field(*batch.schema()->field(i)));
    columns.push_back(storage_array(batch.column(i)));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
}

std::shared_ptr<arrow::Schema> select(arrow::Schema const& schema, std::vector<int> const& columns) {
  arrow::FieldVector fields;
  for (int const column : columns) {
    fields.push_back(plain_field(*schema.field(column)));
  }
  return arrow::schema(std::move(fields));
}

Result<void> check_types(arrow::Schema const& schema, std::string const& sentence) {
  for (auto const& field : schema.fields()) {
    if (field->type()->id() == arrow::Type::NA) continue;  // given a type by the CSV reader
    auto known = to_field(*field);
    if (!known) return tl::unexpected(std::move(known).error().wrap(sentence));
  }
  return {};
}

Result<ChosenColumns> choose_columns(std::filesystem::path const& path, ReadOptions const& options) {
  ChosenColumns chosen{"cannot read " + path.string(), {}, {}, {}};
  GARUDA_TRY_ASSIGN(chosen.reader, open_reader(path));
  auto columns = chosen_columns(*chosen.reader->schema(), options);
  // The file can be read; what is asked of it is not there.
  if (!columns) return tl::unexpected(std::move(columns).error().wrap(path.string()));
  chosen.columns = *std::move(columns);
  chosen.schema = select(*chosen.reader->schema(), chosen.columns);
  GARUDA_TRY(check_types(*chosen.schema, chosen.sentence));
  return chosen;
}

namespace {

/// Names the types of `schema` where columns come as they are stored.
std::shared_ptr<arrow::RecordBatch> with_types(arrow::RecordBatch const& batch, arrow::Schema const& schema) {
  auto fields = batch.schema()->fields();
  for (int i = 0; i < batch.num_columns(); ++i) {
    auto& field = fields[static_cast<std::size_t>(i)];
    auto const& type = schema.field(i)->type();
    auto const id = field->type()->id();
    bool const may_be_stored =
        id == arrow::Type::DICTIONARY || id == arrow::Type::DECIMAL32 || id == arrow::Type::DECIMAL64;
    if (may_be_stored && !field->type()->Equals(type)) field = stored_field(*field, type);
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), batch.columns());
}

}  // namespace

Result<FileRows> checked_rows(ChosenColumns const& file, ArrowBatches batches, ReadOptions const& options) {
  FileRows rows{file.reader->schema(), file.schema, {}};
  for (auto& batch : batches) batch = plain_batch(*batch);
  FileDictionaries dictionaries;
  // The files come from anywhere, and what follows trusts offsets and indices.
  if (!file.reader->validates())
    GARUDA_ARROW_TRY(dictionaries.validate(batches, options.threads, options.cancelled), ErrorCode::invalid_input,
                     file.sentence);
  GARUDA_ARROW_TRY_ASSIGN(rows.batches, dictionaries.without_null_values(std::move(batches)), ErrorCode::invalid_input,
                          file.sentence);
  if (options.as_stored)
    for (auto& batch : rows.batches) batch = with_types(*batch, *rows.schema);
  // The types of a CSV file are known only now.
  if (!rows.batches.empty()) rows.schema = decoded_schema(*rows.batches.front()->schema());
  return rows;
}

void count_read(ChosenColumns const& file, ReadOptions const& options) {
  if (options.bytes_read == nullptr && options.files_read == nullptr) return;
  auto const share = file.reader->share_of(file.columns, options);
  if (options.bytes_read != nullptr) *options.bytes_read += share.bytes;
  if (options.files_read == nullptr) return;
  auto& read = *options.files_read;
  std::atomic_ref(read.row_groups) += share.row_groups;
  std::atomic_ref(read.all_row_groups) += share.all_row_groups;
  std::atomic_ref(read.bytes) += share.bytes;
  std::atomic_ref(read.all_bytes) += share.all_bytes;
}

}  // namespace garuda::io
