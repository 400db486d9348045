// Arrow IPC files (Feather version 2).
#include <utility>

#include "io/file_reader.hpp"

namespace garuda::io {
namespace {

using BatchFileReader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

arrow::Result<BatchFileReader> make_reader(std::shared_ptr<arrow::io::ReadableFile> const& file,
                                           std::vector<int> columns, bool use_threads) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = memory_pool();
  options.included_fields = std::move(columns);
  options.use_threads = use_threads;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return arrow::ipc::RecordBatchFileReader::Open(file, options);
}

class IpcCursor final : public BatchCursor {
 public:
  IpcCursor(std::string sentence, BatchFileReader reader, ReadOptions const& options, std::int64_t batch_rows)
      : sentence_(std::move(sentence)),
        reader_(std::move(reader)),
        schema_(reader_->schema()),
        cancelled_(options.cancelled),
        batch_rows_(batch_rows) {}

  std::shared_ptr<arrow::Schema> const& schema() const noexcept override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    GARUDA_TRY(check_cancelled(cancelled_));
    while (batch_ == nullptr || taken_ == batch_->num_rows()) {
      if (next_batch_ == reader_->num_record_batches()) return nullptr;
      GARUDA_ARROW_TRY_ASSIGN(batch_, reader_->ReadRecordBatch(next_batch_++), ErrorCode::invalid_input, sentence_);
      GARUDA_ARROW_TRY(batch_->Validate(), ErrorCode::invalid_input, sentence_);
      taken_ = 0;
    }
    auto piece = batch_->Slice(taken_, batch_rows_);
    taken_ += piece->num_rows();
    return piece;
  }

  double fraction_read() const noexcept override {
    auto const batches = reader_->num_record_batches();
    if (batches == 0) return 1.0;
    auto const present = batch_ == nullptr || batch_->num_rows() == 0
                             ? 0.0
                             : static_cast<double>(taken_) / static_cast<double>(batch_->num_rows()) - 1.0;
    return (next_batch_ + present) / batches;
  }

 private:
  std::string sentence_;
  BatchFileReader reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::atomic<bool> const* cancelled_;
  std::int64_t batch_rows_;
  int next_batch_ = 0;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t taken_ = 0;
};

class IpcReader final : public FileReader {
 public:
  IpcReader(InputFile input, std::shared_ptr<arrow::Schema> schema)
      : input_(std::move(input)), schema_(std::move(schema)) {}

  std::shared_ptr<arrow::Schema> const& schema() const noexcept override { return schema_; }

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) override {
    GARUDA_ARROW_TRY_ASSIGN(auto const reader, make_reader(input_.file, columns, options.threads != 1),
                            ErrorCode::invalid_input, input_.sentence());
    ArrowBatches batches;
    for (int i = 0; i < reader->num_record_batches(); ++i) {
      GARUDA_TRY(check_cancelled(options.cancelled));
      GARUDA_ARROW_TRY_ASSIGN(auto batch, reader->ReadRecordBatch(i), ErrorCode::invalid_input, input_.sentence());
      // The file says how long its buffers are and how many rows it has; nothing may be read before they agree.
      GARUDA_ARROW_TRY(batch->Validate(), ErrorCode::invalid_input, input_.sentence());
      batches.push_back(std::move(batch));
    }
    return batches;
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t batch_rows) override {
    GARUDA_ARROW_TRY_ASSIGN(auto reader, make_reader(input_.file, columns, options.threads != 1),
                            ErrorCode::invalid_input, input_.sentence());
    return std::make_unique<IpcCursor>(input_.sentence(), std::move(reader), options, batch_rows);
  }

 private:
  InputFile input_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

Result<std::unique_ptr<FileReader>> open_ipc(InputFile input) {
  GARUDA_ARROW_TRY_ASSIGN(auto const reader, make_reader(input.file, {}, false), ErrorCode::invalid_input,
                          input.sentence());
  auto schema = reader->schema();
  return std::make_unique<IpcReader>(std::move(input), std::move(schema));
}

}  // namespace garuda::io
