#include "io/row_writer.hpp"

#include <algorithm>
#include <utility>

#include "io/view_columns.hpp"

namespace garuda::io {
namespace {

class ParquetRowWriter final : public RowWriter {
 public:
  static arrow::Result<std::unique_ptr<RowWriter>> make(arrow::Schema const& schema,
                                                        std::shared_ptr<arrow::io::OutputStream> sink,
                                                        RowWriterOptions const& options) {
    auto const properties = parquet::WriterProperties::Builder()
                                .memory_pool(memory_pool())
                                ->max_row_group_length(options.row_group_rows)
                                ->compression(parquet::Compression::SNAPPY)
                                ->build();
    // The Arrow schema in the footer keeps what Parquet's types alone would lose: dictionaries, unsigned seconds,
    // zones.
    auto const arrow_properties = parquet::ArrowWriterProperties::Builder()
                                      .store_schema()
                                      ->set_use_threads(may_use_threads(options.use_threads))
                                      ->build();
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    ARROW_ASSIGN_OR_RAISE(auto file, parquet::arrow::FileWriter::Open(schema, memory_pool(), std::move(sink),
                                                                      properties, arrow_properties));
    return std::make_unique<ParquetRowWriter>(std::move(file), options.row_group_bytes);
    END_PARQUET_CATCH_EXCEPTIONS
  }

  ParquetRowWriter(std::unique_ptr<parquet::arrow::FileWriter> file, std::int64_t row_group_bytes)
      : file_(std::move(file)), row_group_bytes_(row_group_bytes) {}

  /// Arrow's destructor writes the pages that are left, and crashes on what a lack of memory left half made.
  ~ParquetRowWriter() override {
    if (is_half_made_) static_cast<void>(file_.release());
  }

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    is_half_made_ = true;  // stays so when memory is missed by an exception
    auto status = write_rows(batch);
    is_half_made_ = status.IsOutOfMemory();
    return status;
  }

  arrow::Status finish() override {
    is_half_made_ = true;
    auto status = close();
    is_half_made_ = status.IsOutOfMemory();
    return status;
  }

 private:
  arrow::Status write_rows(std::shared_ptr<arrow::RecordBatch> const& batch) {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    ARROW_ASSIGN_OR_RAISE(auto const bytes, arrow::util::ReferencedBufferSize(*batch));
    // A row group stays in memory until it is complete, so wide rows make shorter ones.
    if (group_bytes_ > 0 && group_bytes_ + bytes > row_group_bytes_) {
      ARROW_RETURN_NOT_OK(file_->NewBufferedRowGroup());
      group_bytes_ = 0;
    }
    group_bytes_ += bytes;
    return file_->WriteRecordBatch(*batch);
    END_PARQUET_CATCH_EXCEPTIONS
  }

  arrow::Status close() {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    return file_->Close();
    END_PARQUET_CATCH_EXCEPTIONS
  }

  std::unique_ptr<parquet::arrow::FileWriter> file_;
  std::int64_t row_group_bytes_;
  std::int64_t group_bytes_ = 0;
  bool is_half_made_ = false;
};

class BatchRowWriter final : public RowWriter {
 public:
  explicit BatchRowWriter(std::shared_ptr<arrow::ipc::RecordBatchWriter> file) : file_(std::move(file)) {}

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    return file_->WriteRecordBatch(*batch);
  }
  arrow::Status finish() override { return file_->Close(); }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchWriter> file_;
};

/// Arrow writes no views as text.
class CsvRowWriter final : public RowWriter {
 public:
  explicit CsvRowWriter(std::shared_ptr<arrow::ipc::RecordBatchWriter> file) : rows_(std::move(file)) {}

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    ARROW_ASSIGN_OR_RAISE(auto const batches, to_offset_layout({batch}));
    return rows_.write(batches.front());
  }
  arrow::Status finish() override { return rows_.finish(); }

 private:
  BatchRowWriter rows_;
};

arrow::Result<std::unique_ptr<RowWriter>> make_ipc_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                          std::shared_ptr<arrow::io::OutputStream> sink) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.memory_pool = memory_pool();
  options.emit_dictionary_deltas = true;
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::MakeFileWriter(std::move(sink), schema, options));
  return std::make_unique<BatchRowWriter>(std::move(file));
}

arrow::Result<std::unique_ptr<RowWriter>> make_csv_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                          std::shared_ptr<arrow::io::OutputStream> sink) {
  auto options = arrow::csv::WriteOptions::Defaults();
  options.io_context = arrow::io::IOContext(memory_pool());
  // Arrow's 1024 rows make a write call for every few kilobytes.
  options.batch_size = 1 << 14;
  arrow::FieldVector fields;
  for (auto const& field : schema->fields()) fields.push_back(field->WithType(offset_layout(field->type())));
  ARROW_ASSIGN_OR_RAISE(auto file,
                        arrow::csv::MakeCSVWriter(std::move(sink), arrow::schema(std::move(fields)), options));
  return std::make_unique<CsvRowWriter>(std::move(file));
}

}  // namespace

arrow::Result<std::unique_ptr<RowWriter>> make_row_writer(FileFormat format,
                                                          std::shared_ptr<arrow::Schema> const& schema,
                                                          std::shared_ptr<arrow::io::OutputStream> sink,
                                                          RowWriterOptions const& options) {
  switch (format) {
    case FileFormat::parquet:
      return ParquetRowWriter::make(*schema, std::move(sink), options);
    case FileFormat::ipc:
      return make_ipc_writer(schema, std::move(sink));
    case FileFormat::csv:
      return make_csv_writer(schema, std::move(sink));
  }
  return arrow::Status::Invalid("unknown file format");
}

}  // namespace garuda::io
