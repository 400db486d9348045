#include "io/table_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/task_threads.hpp"
#include "io/columns/file_columns.hpp"
#include "io/columns/file_rows.hpp"
#include "io/columns/stored_types.hpp"
#include "io/file_dictionaries.hpp"
#include "io/file_format.hpp"
#include "io/file_reader.hpp"
#include "io/table_stream.hpp"
#include "operators/materialize/spill_space.hpp"

namespace garuda::io {
namespace {

Result<FileRows> read_file(std::filesystem::path const& path, ReadOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const file, choose_columns(path, options));
  GARUDA_TRY_ASSIGN(auto batches, file.reader->read(file.columns, options));
  count_read(file, options);
  return checked_rows(file, std::move(batches), options);
}

/// A column that some files store otherwise than others is what it stands for in all.
Result<void> store_alike(ArrowBatches& batches, std::string const& sentence) {
  auto const differs = [&](int column) {
    auto const& type = *batches.front()->schema()->field(column)->type();
    return std::ranges::any_of(
        batches, [&](auto const& batch) { return !batch->schema()->field(column)->type()->Equals(type); });
  };
  for (int c = 0; !batches.empty() && c < batches.front()->num_columns(); ++c) {
    if (!differs(c)) continue;
    for (auto& batch : batches) {
      auto const field = batch->schema()->field(c);
      GARUDA_ARROW_TRY_ASSIGN(auto const column, decoded_column(field, batch->column(c)), ErrorCode::invalid_input,
                              sentence);
      GARUDA_ARROW_TRY_ASSIGN(batch, batch->SetColumn(c, decoded_field(field), column), ErrorCode::invalid_input,
                              sentence);
    }
  }
  return {};
}

/// The rows of all files, side by side.
Result<FileRows> read_files(TableFiles const& files, ReadOptions const& options) {
  GARUDA_TRY_ASSIGN(auto const folders, FolderColumns::make(files, options));
  GARUDA_TRY_ASSIGN(auto parts, task_values(files.files.size(), options.threads, false, [&](std::size_t i) {
                      return read_file(files.files[i].path, folders.file_options());
                    }));
  auto const sentence = "cannot read " + files.name;
  FileRows rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto part = std::move(parts[i]);
    if (i == 0) rows = {part.file, part.schema, {}};
    auto const& first = files.files.front().path;
    auto const& path = files.files[i].path;
    if (auto same = check_all_columns(*rows.file, first, *part.file, path); !same)
      return tl::unexpected(std::move(same).error().wrap(sentence));
    auto const positions = fit_schema(*rows.schema, first.string(), *part.schema, path.string());
    if (!positions) return tl::unexpected(Error(positions.error()).wrap(sentence));
    for (auto const& batch : part.batches) {
      GARUDA_ARROW_TRY_ASSIGN(auto const fitting, batch->SelectColumns(*positions), ErrorCode::invalid_input, sentence);
      GARUDA_ARROW_TRY_ASSIGN(auto complete, folders.complete(*fitting, i), ErrorCode::invalid_input, sentence);
      rows.batches.push_back(std::move(complete));
    }
  }
  rows.schema = folders.schema(*rows.schema);
  GARUDA_TRY(store_alike(rows.batches, sentence));
  // Whether a column may have nulls can differ, too, and is told by the rows.
  arrow::FieldVector fields;
  for (int c = 0; c < rows.schema->num_fields(); ++c)
    fields.push_back(
        (rows.batches.empty() ? rows.schema : rows.batches.front()->schema())->field(c)->WithNullable(true));
  auto const shared = arrow::schema(std::move(fields));
  for (auto& batch : rows.batches) batch = arrow::RecordBatch::Make(shared, batch->num_rows(), batch->columns());
  return rows;
}

/// The rows of all files, piece by piece, in mapped files.
Result<Table> read_spilled(TableFiles const& files, ReadOptions const& options) {
  constexpr std::int64_t kBatchRows = std::int64_t{1} << 14;
  materialize::SpillSpace space(*options.spill_folder, 0);
  auto plain = options;
  plain.as_stored = false;
  GARUDA_TRY_ASSIGN(auto stream, TableStream::open(files, plain, kBatchRows));
  std::vector<Batch> batches;
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, stream.next());
    ArrowBatches piece;
    if (batch != nullptr) piece.push_back(std::move(batch));
    bool const is_last = piece.empty();
    auto rows = to_table(stream.schema(), std::move(piece));
    if (!rows) return tl::unexpected(std::move(rows).error().wrap("cannot read " + files.name));
    if (is_last) return Table(rows->schema(), std::move(batches));
    for (auto const& in_memory : rows->batches()) {
      GARUDA_TRY_ASSIGN(auto kept, space.keep(rows->schema(), Batch(in_memory)));
      batches.push_back(std::move(kept));
    }
  }
}

}  // namespace

Result<std::vector<FileField>> read_fields(TableFiles const& files) {
  auto const& path = files.files.front().path;
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
  GARUDA_TRY(check_folder_names(files));
  auto const& keys = files.files.front().keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const id = files.has_integers(i) ? TypeId::int64 : TypeId::utf8;
    fields.push_back({keys[i].first, to_string(DataType{id}), Field{keys[i].first, DataType{id}}});
  }
  return fields;
}

Result<Table> read_table(TableFiles const& files, ReadOptions const& options) {
  GARUDA_EXPECTS(!files.files.empty() && (!options.columns || !options.columns->empty()));
  auto const sentence = "cannot read " + files.name;
  if (options.spill_folder) return read_spilled(files, options);
  GARUDA_TRY_ASSIGN(auto rows,
                    files.is_one() ? read_file(files.files.front().path, options) : read_files(files, options));
  GARUDA_ARROW_TRY_ASSIGN(auto batches, unify_dictionaries(std::move(rows.batches), options.threads),
                          ErrorCode::invalid_input, sentence);
  auto const schema = batches.empty() ? rows.schema : batches.front()->schema();
  auto table = on_threads(options.threads, [&] { return to_table(schema, std::move(batches)); });
  if (!table) return tl::unexpected(std::move(table).error().wrap(sentence));
  return table;
}

Result<Schema> decoded_fields(Schema const& stored) {
  GARUDA_TRY_ASSIGN(auto const schema, to_arrow_schema(stored));
  auto const decoded_columns = decoded_schema(*schema);
  Schema fields;
  for (auto const& field : decoded_columns->fields()) {
    GARUDA_TRY_ASSIGN(auto decoded, to_field(*field));
    fields.push_back(std::move(decoded));
  }
  return fields;
}

Result<std::uint32_t> set_arrow_threads(std::uint32_t threads) {
  GARUDA_EXPECTS(threads >= 1);
  auto const before = static_cast<std::uint32_t>(arrow::GetCpuThreadPoolCapacity());
  GARUDA_ARROW_TRY(arrow::SetCpuThreadPoolCapacity(static_cast<int>(threads)), ErrorCode::usage,
                   "cannot limit the threads of Arrow");
  return before;
}

}  // namespace garuda::io
