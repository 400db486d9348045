#include "io/table_stream.hpp"

#include <algorithm>
#include <utility>

#include "io/columns/file_columns.hpp"
#include "io/columns/file_rows.hpp"
#include "io/file_dictionaries.hpp"

namespace garuda::io {

/// One file of the table.
class TableStream::FileStream {
 public:
  static Result<std::unique_ptr<FileStream>> open(std::filesystem::path const& path, ReadOptions const& options,
                                                  std::int64_t batch_rows) {
    auto stream = std::make_unique<FileStream>();
    stream->sentence_ = "cannot read " + path.string();
    GARUDA_TRY_ASSIGN(stream->reader_, open_reader(path));
    auto const& file_schema = *stream->reader_->schema();
    auto const columns = chosen_columns(file_schema, options);
    if (!columns) return tl::unexpected(Error(columns.error()).wrap(path.string()));
    // Before anything is decoded.
    GARUDA_TRY(check_types(*select(file_schema, *columns), stream->sentence_));
    GARUDA_TRY_ASSIGN(stream->cursor_, stream->reader_->stream(*columns, options, batch_rows));
    if (options.bytes_read != nullptr) *options.bytes_read += stream->reader_->bytes_of(*columns, options);
    std::vector<int> all(columns->size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    stream->schema_ = select(*stream->cursor_->schema(), all);
    return stream;
  }

  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }
  double fraction_read() const noexcept { return std::clamp(cursor_->fraction_read(), 0.0, 1.0); }
  void rest() { cursor_->rest(); }

  Result<std::shared_ptr<arrow::RecordBatch>> next() {
    GARUDA_TRY_ASSIGN(auto const batch, cursor_->next());
    if (batch == nullptr) return nullptr;
    auto const plain = plain_batch(*batch);
    // Files come from anywhere, and what follows trusts offsets and indices.
    GARUDA_ARROW_TRY(dictionaries_.validate({plain}, 1), ErrorCode::invalid_input, sentence_);
    GARUDA_ARROW_TRY_ASSIGN(auto const batches, dictionaries_.without_null_values({plain}), ErrorCode::invalid_input,
                            sentence_);
    return batches.front();
  }

 private:
  std::string sentence_;
  std::unique_ptr<FileReader> reader_;
  std::unique_ptr<BatchCursor> cursor_;
  FileDictionaries dictionaries_;
  std::shared_ptr<arrow::Schema> schema_;
};

TableStream::TableStream() = default;
TableStream::TableStream(TableStream&&) noexcept = default;
TableStream& TableStream::operator=(TableStream&&) noexcept = default;
TableStream::~TableStream() = default;

Result<TableStream> TableStream::open(TableFiles const& files, ReadOptions const& options, std::int64_t batch_rows) {
  GARUDA_EXPECTS(!files.files.empty() && batch_rows > 0 && (!options.columns || !options.columns->empty()));
  TableStream stream;
  stream.files_ = std::make_unique<TableFiles>(files);
  GARUDA_TRY_ASSIGN(auto folders, FolderColumns::make(*stream.files_, options));
  stream.folders_ = std::make_unique<FolderColumns>(std::move(folders));
  stream.batch_rows_ = batch_rows;
  GARUDA_TRY(stream.open_next());
  return stream;
}

Result<void> TableStream::open_next() {
  auto const& path = files_->files[num_opened_].path;
  GARUDA_TRY_ASSIGN(file_, FileStream::open(path, folders_->file_options(), batch_rows_));
  if (num_opened_++ == 0) {
    file_schema_ = file_->schema();
    schema_ = folders_->schema(*file_schema_);
    if (files_->is_one()) return {};
    // Whether a column may have nulls can differ between files.
    arrow::FieldVector fields;
    for (auto const& field : schema_->fields()) fields.push_back(field->WithNullable(true));
    schema_ = arrow::schema(std::move(fields));
  }
  GARUDA_TRY_ASSIGN(positions_,
                    fit_schema(*file_schema_, files_->files.front().path.string(), *file_->schema(), path.string()));
  return {};
}

Result<std::shared_ptr<arrow::RecordBatch>> TableStream::next() {
  while (true) {
    GARUDA_TRY_ASSIGN(auto const batch, file_->next());
    if (batch != nullptr && files_->is_one()) return batch;
    auto const sentence = "cannot read " + files_->name;
    if (batch != nullptr) {
      GARUDA_ARROW_TRY_ASSIGN(auto const fitting, batch->SelectColumns(positions_), ErrorCode::invalid_input, sentence);
      GARUDA_ARROW_TRY_ASSIGN(auto const rows, folders_->complete(*fitting, num_opened_ - 1), ErrorCode::invalid_input,
                              sentence);
      return arrow::RecordBatch::Make(schema_, rows->num_rows(), rows->columns());
    }
    at_end_ = num_opened_ == files_->files.size();
    if (at_end_) return nullptr;
    GARUDA_TRY(open_next());
  }
}

void TableStream::rest() {
  if (!at_end_) file_->rest();
}

double TableStream::fraction_read() const noexcept {
  if (at_end_) return 1.0;
  auto const done = static_cast<double>(num_opened_ - 1) + file_->fraction_read();
  return done / static_cast<double>(files_->files.size());
}

}  // namespace garuda::io
