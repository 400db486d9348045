// CSV after RFC 4180: a header line, quotes doubled inside quotes, line breaks allowed inside quotes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/file_reader.hpp"

namespace garuda::io {
namespace {

constexpr std::int32_t kBlockBytes = 4 << 20;

/// The file from its start, and an end to it when the caller cancels.
class CancellableInput final : public arrow::io::InputStream {
 public:
  CancellableInput(std::shared_ptr<arrow::io::ReadableFile> file, std::atomic<bool> const* cancelled)
      : file_(std::move(file)), cancelled_(cancelled) {}

  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_RETURN_NOT_OK(check());
    ARROW_ASSIGN_OR_RAISE(auto const read, file_->ReadAt(position_, bytes, out));
    position_ += read;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_RETURN_NOT_OK(check());
    ARROW_ASSIGN_OR_RAISE(auto buffer, file_->ReadAt(position_, bytes));
    position_ += buffer->size();
    return buffer;
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }

 private:
  arrow::Status check() const {
    bool const stop = cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
    return stop ? arrow::Status::Cancelled("interrupted while reading") : arrow::Status::OK();
  }

  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::atomic<bool> const* cancelled_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

struct CsvOptions {
  arrow::csv::ReadOptions read = arrow::csv::ReadOptions::Defaults();
  arrow::csv::ParseOptions parse = arrow::csv::ParseOptions::Defaults();
  arrow::csv::ConvertOptions convert = arrow::csv::ConvertOptions::Defaults();
};

CsvOptions csv_options(bool use_threads) {
  CsvOptions options;
  options.read.use_threads = use_threads;
  options.read.block_size = kBlockBytes;
  options.parse.newlines_in_values = true;
  // Only what the writer makes of a null is one: `NA` and `null` are words, `""` is an empty string.
  options.convert.null_values = {""};
  options.convert.strings_can_be_null = true;
  options.convert.quoted_strings_can_be_null = false;
  return options;
}

struct RaggedLine {
  std::int64_t line = 0;
  std::int64_t columns = 0;
  std::int64_t expected = 0;
};

/// Splits CSV text into records, to tell the line of the first one that has another number of columns than the header.
class RaggedLineFinder {
 public:
  /// Returns the first ragged record that ends in `text`, which continues the text of the previous call.
  std::optional<RaggedLine> feed(std::string_view text) {
    for (char const c : text) {
      auto const found = next(c);
      if (found) return found;
    }
    return std::nullopt;
  }
  std::optional<RaggedLine> finish() { return record_is_empty_ ? std::nullopt : end_record(); }

 private:
  std::optional<RaggedLine> next(char c) {
    bool const line_break = c == '\n' || c == '\r';
    // "\r\n" is one break; the '\n' of it neither ends a record nor starts a line.
    bool const second_half = c == '\n' && previous_ == '\r';
    previous_ = c;
    if (second_half) return std::nullopt;
    line_ += line_break ? 1 : 0;
    if (quoted_) {
      quoted_ = c != '"';
      return std::nullopt;
    }
    if (line_break && !record_is_empty_) return end_record();
    if (line_break) {
      record_line_ = line_;
      return std::nullopt;
    }
    // After a closing quote, another one reopens the value: that is what doubling comes to.
    quoted_ = c == '"' && (value_is_empty_ || value_was_quoted_);
    value_was_quoted_ = quoted_;
    value_is_empty_ = c == ',';
    record_is_empty_ = false;
    columns_ += c == ',' ? 1 : 0;
    return std::nullopt;
  }

  std::optional<RaggedLine> end_record() {
    RaggedLine const record{record_line_, columns_, expected_ == 0 ? columns_ : expected_};
    expected_ = record.expected;
    columns_ = 1;
    record_line_ = line_;
    record_is_empty_ = value_is_empty_ = true;
    value_was_quoted_ = false;
    return record.columns == record.expected ? std::nullopt : std::optional(record);
  }

  std::int64_t line_ = 1;
  std::int64_t record_line_ = 1;
  std::int64_t columns_ = 1;
  std::int64_t expected_ = 0;
  char previous_ = 0;
  bool quoted_ = false;
  bool value_is_empty_ = true;
  bool value_was_quoted_ = false;
  bool record_is_empty_ = true;
};

arrow::Result<std::optional<RaggedLine>> find_ragged_line(arrow::io::ReadableFile& file) {
  RaggedLineFinder finder;
  std::int64_t position = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto const block, file.ReadAt(position, kBlockBytes));
    if (block->size() == 0) return finder.finish();
    position += block->size();
    auto const found = finder.feed(std::string_view(*block));
    if (found) return found;
  }
}

/// A column without any value has no type of its own.
std::shared_ptr<arrow::DataType> type_without_values(std::string const& name, ReadOptions const& options) {
  auto const given = std::find_if(options.types_without_values.begin(), options.types_without_values.end(),
                                  [&](auto const& entry) { return entry.first == name; });
  if (given == options.types_without_values.end()) return arrow::utf8();
  auto const schema = to_arrow_schema({Field{name, given->second}});
  return schema ? (*schema)->field(0)->type() : arrow::utf8();
}

arrow::Result<std::shared_ptr<arrow::Table>> give_types(std::shared_ptr<arrow::Table> table,
                                                        ReadOptions const& options) {
  for (int i = 0; i < table->num_columns(); ++i) {
    auto const& field = *table->field(i);
    if (field.type()->id() != arrow::Type::NA) continue;
    auto const type = type_without_values(field.name(), options);
    ARROW_ASSIGN_OR_RAISE(auto const nulls, arrow::MakeArrayOfNull(type, table->num_rows(), memory_pool()));
    ARROW_ASSIGN_OR_RAISE(table,
                          table->SetColumn(i, field.WithType(type), std::make_shared<arrow::ChunkedArray>(nulls)));
  }
  return table;
}

/// A column of type null in what the first block suggests, as in give_types.
std::shared_ptr<arrow::Schema> with_types(arrow::Schema const& schema, ReadOptions const& options) {
  arrow::FieldVector fields;
  for (auto const& field : schema.fields())
    fields.push_back(
        field->type()->id() == arrow::Type::NA ? field->WithType(type_without_values(field->name(), options)) : field);
  return arrow::schema(std::move(fields));
}

/// Says which line has the wrong number of columns, when that is what `status` is about.
Error explain(InputFile const& input, arrow::Status const& status) {
  if (status.IsInvalid()) {
    auto const ragged = find_ragged_line(*input.file);
    if (ragged.ok() && *ragged) {
      auto const& [line, num_columns, expected] = **ragged;
      return Error(ErrorCode::invalid_input,
                   fmt::format("cannot read {}: line {} has {} column{} instead of {}", input.path, line, num_columns,
                               num_columns == 1 ? "" : "s", expected));
    }
  }
  return to_error(status, ErrorCode::invalid_input, input.sentence());
}

class CsvCursor final : public BatchCursor {
 public:
  CsvCursor(InputFile input, std::int64_t file_bytes, std::shared_ptr<arrow::csv::StreamingReader> reader,
            ReadOptions const& options)
      : input_(std::move(input)),
        file_bytes_(file_bytes),
        reader_(std::move(reader)),
        schema_(with_types(*reader_->schema(), options)) {}

  std::shared_ptr<arrow::Schema> const& schema() const noexcept override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    auto const status = read_next(&batch);
    if (!status.ok()) {
      auto error = explain(input_, status);
      if (error.code() != ErrorCode::invalid_input || !status.IsInvalid()) return tl::unexpected(std::move(error));
      return tl::unexpected(std::move(error).wrap(
          "a CSV file that does not fit the memory limit has the types that its first block suggests"));
    }
    return batch;
  }

  double fraction_read() const noexcept override {
    return static_cast<double>(reader_->bytes_read()) / static_cast<double>(file_bytes_);
  }

 private:
  arrow::Status read_next(std::shared_ptr<arrow::RecordBatch>* batch) {
    ARROW_RETURN_NOT_OK(reader_->ReadNext(batch));
    if (*batch == nullptr) return arrow::Status::OK();
    for (int i = 0; i < schema_->num_fields(); ++i) {
      if ((*batch)->column(i)->type_id() != arrow::Type::NA) continue;
      ARROW_ASSIGN_OR_RAISE(auto const nulls,
                            arrow::MakeArrayOfNull(schema_->field(i)->type(), (*batch)->num_rows(), memory_pool()));
      ARROW_ASSIGN_OR_RAISE(*batch, (*batch)->SetColumn(i, schema_->field(i), nulls));
    }
    return (*batch)->Validate();
  }

  InputFile input_;
  std::int64_t file_bytes_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
};

class CsvReader final : public FileReader {
 public:
  CsvReader(InputFile input, std::shared_ptr<arrow::Schema> schema)
      : input_(std::move(input)), schema_(std::move(schema)) {}

  std::shared_ptr<arrow::Schema> const& schema() const noexcept override { return schema_; }

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) override {
    auto batches = read_batches(columns, options);
    if (!batches.ok()) return tl::unexpected(explain(input_, batches.status()));
    return *std::move(batches);
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t /*batch_rows*/) override {
    GARUDA_ARROW_TRY_ASSIGN(auto const bytes, input_.file->GetSize(), ErrorCode::invalid_input, input_.sentence());
    auto const csv = options_for(columns, options);
    auto reader = arrow::csv::StreamingReader::Make(arrow::io::IOContext(memory_pool()),
                                                    std::make_shared<CancellableInput>(input_.file, options.cancelled),
                                                    csv.read, csv.parse, csv.convert);
    if (!reader.ok()) return tl::unexpected(explain(input_, reader.status()));
    return std::make_unique<CsvCursor>(input_, bytes, *std::move(reader), options);
  }

 private:
  CsvOptions options_for(std::vector<int> const& columns, ReadOptions const& options) const {
    auto csv = csv_options(options.threads != 1);
    // All columns are asked for by none: a name that occurs twice would not say which is meant.
    if (columns.size() < static_cast<std::size_t>(schema_->num_fields()))
      for (int const column : columns) csv.convert.include_columns.push_back(schema_->field(column)->name());
    return csv;
  }

  arrow::Result<ArrowBatches> read_batches(std::vector<int> const& columns, ReadOptions const& options) const {
    auto const csv = options_for(columns, options);
    ARROW_ASSIGN_OR_RAISE(auto const reader, arrow::csv::TableReader::Make(
                                                 arrow::io::IOContext(memory_pool()),
                                                 std::make_shared<CancellableInput>(input_.file, options.cancelled),
                                                 csv.read, csv.parse, csv.convert));
    ARROW_ASSIGN_OR_RAISE(auto table, reader->Read());
    ARROW_ASSIGN_OR_RAISE(table, give_types(std::move(table), options));
    ARROW_RETURN_NOT_OK(table->Validate());
    ARROW_ASSIGN_OR_RAISE(auto batches, arrow::TableBatchReader(table).ToRecordBatches());
    if (!batches.empty()) return batches;
    ARROW_ASSIGN_OR_RAISE(auto empty, arrow::RecordBatch::MakeEmpty(table->schema(), memory_pool()));
    return ArrowBatches{std::move(empty)};
  }

  InputFile input_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

Result<std::unique_ptr<FileReader>> open_csv(InputFile input) {
  auto const csv = csv_options(false);
  auto const reader = arrow::csv::StreamingReader::Make(arrow::io::IOContext(memory_pool()),
                                                        std::make_shared<CancellableInput>(input.file, nullptr),
                                                        csv.read, csv.parse, csv.convert);
  if (!reader.ok()) return tl::unexpected(explain(input, reader.status()));
  auto schema = (*reader)->schema();
  return std::make_unique<CsvReader>(std::move(input), std::move(schema));
}

}  // namespace garuda::io
