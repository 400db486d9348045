#include "io/table_reader.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <utility>

#include "io/file_columns.hpp"
#include "io/file_format.hpp"
#include "io/file_reader.hpp"
#include "io/view_columns.hpp"

namespace garuda::io {
namespace {

/// Checks every value of every batch: the files come from anywhere, and what follows trusts offsets and indices.
arrow::Status validate(ArrowBatches const& batches, ReadOptions const& options) {
  std::vector<arrow::Status> statuses(batches.size());
  tbb::task_arena arena(options.threads == 0 ? tbb::task_arena::automatic : static_cast<int>(options.threads));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, batches.size(), [&](std::size_t i) {
      bool const stop = options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed);
      statuses[i] = stop ? arrow::Status::Cancelled("interrupted while reading") : batches[i]->ValidateFull();
    });
  });
  for (auto& status : statuses) ARROW_RETURN_NOT_OK(status);
  return arrow::Status::OK();
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
  // The file can be read; what is asked of it is not there.
  if (!columns) return tl::unexpected(std::move(columns).error().wrap(path.string()));
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
