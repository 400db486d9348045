// Arrow IPC streams in files: batches one after the other, and no list of them. Mapped like files of the other form.
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>

#include <utility>

#include "io/ipc/ipc_batches.hpp"

namespace garuda::io {
namespace {

using Source = std::shared_ptr<arrow::io::RandomAccessFile>;
using StreamReader = std::shared_ptr<arrow::ipc::RecordBatchStreamReader>;

arrow::Result<StreamReader> make_stream_reader(Source const& mapped, std::vector<int> columns, bool use_threads,
                                               arrow::MemoryPool* pool = memory_pool()) {
  return arrow::ipc::RecordBatchStreamReader::Open(mapped, ipc_options(std::move(columns), use_threads, pool));
}

/// The next batch of the stream, nullptr behind the last one. When memory does not suffice, a second attempt, from the
/// stream's begin, tells whether the file is to blame. `columns`: of the reader.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> read_batch(arrow::ipc::RecordBatchStreamReader& reader,
                                                              Source const& mapped, std::vector<int> const& columns) {
  std::shared_ptr<arrow::RecordBatch> batch;
  auto const read = reader.ReadNext(&batch);
  if (read.ok()) return batch;
  if (!read.IsOutOfMemory()) return read;
  ARROW_ASSIGN_OR_RAISE(auto const bytes, mapped->GetSize());
  ARROW_ASSIGN_OR_RAISE(auto whole, mapped->ReadAt(0, bytes));
  PlausiblePool pool(bytes);
  ARROW_ASSIGN_OR_RAISE(
      auto const again,
      make_stream_reader(std::make_shared<arrow::io::BufferReader>(std::move(whole)), columns, false, &pool));
  for (std::int64_t batches = reader.stats().num_record_batches; batches >= 0; --batches) {
    std::shared_ptr<arrow::RecordBatch> skipped;
    auto const damaged = again->ReadNext(&skipped);
    if (!damaged.ok()) return damaged.IsInvalid() ? damaged : read;
  }
  return read;
}

class StreamCursor final : public SlicedCursor {
 public:
  StreamCursor(std::string sentence, Source mapped, std::vector<int> columns, StreamReader reader,
               ReadOptions const& options, std::int64_t batch_rows)
      : SlicedCursor(std::move(sentence), reader->schema(), options, batch_rows),
        mapped_(std::move(mapped)),
        columns_(std::move(columns)),
        reader_(std::move(reader)) {}

  double fraction_read() const noexcept override {
    auto const bytes = mapped_->GetSize().ValueOr(0);
    return bytes == 0 ? 1.0 : static_cast<double>(mapped_->Tell().ValueOr(bytes)) / static_cast<double>(bytes);
  }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_batch() override {
    ARROW_ASSIGN_OR_RAISE(auto const batch, read_batch(*reader_, mapped_, columns_));
    if (batch == nullptr) return nullptr;
    return places_.of(*batch);
  }

  Source mapped_;
  std::vector<int> columns_;
  StreamReader reader_;
  OwnPlaces places_;
};

class IpcStreamReader final : public FileReader {
 public:
  using FileReader::FileReader;

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) override {
    GARUDA_ARROW_TRY_ASSIGN(auto const mapped, map_file(*input_.file), ErrorCode::invalid_input, input_.sentence());
    GARUDA_ARROW_TRY_ASSIGN(auto const reader, make_stream_reader(mapped, columns, options.threads != 1),
                            ErrorCode::invalid_input, input_.sentence());
    IpcBatches batches(options.threads);
    while (true) {
      GARUDA_TRY(check_cancelled(options.cancelled));
      GARUDA_ARROW_TRY_ASSIGN(auto batch, read_batch(*reader, mapped, columns), ErrorCode::invalid_input,
                              input_.sentence());
      if (batch == nullptr) break;
      GARUDA_ARROW_TRY(batches.add(std::move(batch)), ErrorCode::invalid_input, input_.sentence());
    }
    GARUDA_ARROW_TRY_ASSIGN(auto all, batches.take(), ErrorCode::invalid_input, input_.sentence());
    return all;
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t batch_rows) override {
    GARUDA_ARROW_TRY_ASSIGN(auto mapped, map_file(*input_.file), ErrorCode::invalid_input, input_.sentence());
    GARUDA_ARROW_TRY_ASSIGN(auto reader, make_stream_reader(mapped, columns, options.threads != 1),
                            ErrorCode::invalid_input, input_.sentence());
    return std::make_unique<StreamCursor>(input_.sentence(), std::move(mapped), columns, std::move(reader), options,
                                          batch_rows);
  }
};

}  // namespace

Result<std::unique_ptr<FileReader>> open_ipc_stream(InputFile input) {
  GARUDA_ARROW_TRY_ASSIGN(auto const mapped, map_file(*input.file), ErrorCode::invalid_input, input.sentence());
  GARUDA_ARROW_TRY_ASSIGN(auto const reader, make_stream_reader(mapped, {}, false), ErrorCode::invalid_input,
                          input.sentence());
  return std::make_unique<IpcStreamReader>(std::move(input), reader->schema());
}

}  // namespace garuda::io
