#include "io/table_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "io/file_format.hpp"
#include "io/file_reader.hpp"
#include "io/system_message.hpp"
#include "io/view_columns.hpp"

namespace garuda::io {
namespace {

Error unreadable(std::string const& path, std::string reason) {
  return Error(ErrorCode::invalid_input, std::move(reason)).wrap("cannot read " + path);
}

Result<InputFile> open_input(std::filesystem::path const& path) {
  InputFile input{path.string(), nullptr};
  // O_NONBLOCK: opening a pipe must not wait for a writer, only to be refused.
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return tl::unexpected(unreadable(input.path, system_message(errno)));
  struct stat status {};
  bool const known = ::fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode) || status.st_size == 0) {
    auto reason = !known                    ? system_message(errno)
                  : S_ISDIR(status.st_mode) ? "it is a folder"
                  : S_ISREG(status.st_mode) ? "it is empty"
                                            : "it is not a regular file";
    ::close(descriptor);
    return tl::unexpected(unreadable(input.path, std::move(reason)));
  }
  // The descriptor is the file's from here on, also when this fails.
  GARUDA_ARROW_TRY_ASSIGN(input.file, arrow::io::ReadableFile::Open(descriptor, memory_pool()),
                          ErrorCode::invalid_input, input.sentence());
  return input;
}

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

Result<std::vector<int>> chosen_columns(arrow::Schema const& schema, ReadOptions const& options) {
  if (options.columns) return find_columns(schema, *options.columns);
  std::vector<int> columns(static_cast<std::size_t>(schema.num_fields()));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int>(i);
  return columns;
}

/// An extension type is its storage to garuda; metadata of files is not carried on.
std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> const& type) {
  if (type->id() != arrow::Type::EXTENSION) return type;
  return storage_type(static_cast<arrow::ExtensionType const&>(*type).storage_type());
}

std::shared_ptr<arrow::Array> storage_array(std::shared_ptr<arrow::Array> const& array) {
  if (array->type_id() != arrow::Type::EXTENSION) return array;
  return storage_array(static_cast<arrow::ExtensionArray const&>(*array).storage());
}

std::shared_ptr<arrow::Field> plain_field(arrow::Field const& field) {
  return arrow::field(field.name(), storage_type(field.type()), field.nullable());
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

/// Checks every value of every batch: the files come from anywhere, and what follows trusts offsets and indices.
arrow::Status validate(ArrowBatches const& batches, ReadOptions const& options) {
  std::vector<arrow::Status> statuses(batches.size());
  tbb::task_arena arena(options.threads == 0 ? tbb::task_arena::automatic : static_cast<int>(options.threads));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, batches.size(), [&](std::size_t i) { statuses[i] = batches[i]->ValidateFull(); });
  });
  for (auto& status : statuses) ARROW_RETURN_NOT_OK(status);
  return arrow::Status::OK();
}

/// Gives the batches of each column one dictionary, so that a result needs one too.
arrow::Result<ArrowBatches> unify_dictionaries(ArrowBatches batches) {
  auto const has_dictionary = [](auto const& field) { return field->type()->id() == arrow::Type::DICTIONARY; };
  if (batches.size() < 2) return batches;
  auto const& fields = batches.front()->schema()->fields();
  if (std::none_of(fields.begin(), fields.end(), has_dictionary)) return batches;
  ARROW_ASSIGN_OR_RAISE(auto const table, arrow::Table::FromRecordBatches(batches));
  auto const unified = arrow::DictionaryUnifier::UnifyTable(*table, memory_pool());
  // Some value types cannot be unified; their batches keep dictionaries of their own, which is as valid.
  if (unified.status().IsNotImplemented()) return batches;
  ARROW_RETURN_NOT_OK(unified.status());
  return arrow::TableBatchReader(*unified).ToRecordBatches();
}

std::shared_ptr<arrow::Schema> select(arrow::Schema const& schema, std::vector<int> const& columns) {
  arrow::FieldVector fields;
  for (int const column : columns) {
    auto const field = plain_field(*schema.field(column));
    fields.push_back(field->WithType(offset_layout(field->type())));
  }
  return arrow::schema(std::move(fields));
}

/// Fails on the first column whose type garuda does not have.
Result<void> check_types(arrow::Schema const& schema, std::string const& sentence) {
  for (auto const& field : schema.fields()) {
    if (field->type()->id() == arrow::Type::NA) continue;  // given a type by the CSV reader
    auto known = to_field(*field);
    if (!known) return tl::unexpected(std::move(known).error().wrap(sentence));
  }
  return {};
}

}  // namespace

Result<std::vector<FileField>> read_fields(std::filesystem::path const& path) {
  GARUDA_TRY_ASSIGN(auto const reader, open_reader(path));
  std::vector<FileField> fields;
  for (auto const& field : reader->schema()->fields()) {
    auto plain = plain_field(*field);
    plain = plain->WithType(offset_layout(plain->type()));
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
  if (!columns) return tl::unexpected(std::move(columns).error().wrap(sentence));
  if (columns->empty()) return fail(ErrorCode::invalid_input, sentence + ": no columns");
  auto schema = select(*reader->schema(), *columns);
  GARUDA_TRY(check_types(*schema, sentence));
  GARUDA_TRY_ASSIGN(auto batches, reader->read(*columns, options));
  for (auto& batch : batches) batch = plain_batch(*batch);
  GARUDA_ARROW_TRY(validate(batches, options), ErrorCode::invalid_input, sentence);
  GARUDA_ARROW_TRY_ASSIGN(batches, to_offset_layout(std::move(batches)), ErrorCode::invalid_input, sentence);
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
