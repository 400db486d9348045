#include "io/scan_files.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/table_reader.hpp"

namespace garuda::io {
namespace {

class FileSource final : public TableSource {
 public:
  FileSource(TableFiles files, Schema schema) : files_(std::move(files)), without_rows_(std::move(schema), {}) {}

  TableView view() const noexcept { return without_rows_.view(); }

  Result<Rows> read(std::vector<std::string> const& columns, RowTest const& rows,
                    QueryOptions const& query) const override {
    FilesRead share;
    ReadOptions options;
    options.columns = columns;
    options.wanted = rows;
    options.as_stored = true;
    options.threads = query.threads;
    options.files_read = &share;
    options.cancelled = query.control.cancelled;
    if (query.memory_limit_bytes != 0) options.spill_folder.emplace(query.temp_folder);
    GARUDA_TRY_ASSIGN(auto stored, read_table(files_, options));
    auto table = with_all_columns(std::move(stored), without_rows_.schema());
    GARUDA_TRY_ASSIGN(auto fields, decoded_fields(table.schema()));
    Rows read{std::move(table), std::move(fields)};
    if (share.all_row_groups != 0) read.files = share;
    return read;
  }

 private:
  TableFiles files_;
  Table without_rows_;
};

}  // namespace

Result<Schema> schema_of(TableFiles const& files) {
  GARUDA_TRY_ASSIGN(auto const fields, read_fields(files));
  Schema schema;
  for (auto const& field : fields)
    if (field.field) schema.push_back(*field.field);
  return schema;
}

Table with_all_columns(Table read, Schema const& whole) {
  auto schema = whole;
  std::vector<Batch> batches;
  for (auto const& batch : read.batches()) batches.push_back({batch.num_rows, {}, batch.owner});
  for (auto& field : schema) {
    auto const found = std::ranges::find(read.schema(), field.name, &Field::name);
    auto const column = static_cast<std::size_t>(found - read.schema().begin());
    if (found != read.schema().end()) field = *found;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      auto const& from = read.batches()[b];
      batches[b].columns.push_back(found != read.schema().end() ? from.columns[column]
                                                                : ArrayView{.length = from.num_rows, .null_count = 0});
    }
  }
  return {std::move(schema), std::move(batches)};
}

Result<ScannedTable> scan_files(std::string_view files) {
  GARUDA_TRY_ASSIGN(auto found, find_files(files));
  return scan_files(std::move(found));
}

Result<ScannedTable> scan_files(TableFiles files) {
  GARUDA_TRY_ASSIGN(auto schema, schema_of(files));
  auto const source = std::make_shared<FileSource const>(std::move(files), std::move(schema));
  ScannedTable scanned(source->view());
  scanned.source = source;
  return scanned;
}

}  // namespace garuda::io
