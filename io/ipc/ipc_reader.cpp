// Arrow IPC files (Feather version 2). Whole ones are mapped: buffers that are not compressed stay where they are.
#include <utility>

#include "core/shortage.hpp"
#include "io/columns/row_bytes.hpp"
#include "io/file_reader.hpp"
#include "io/ipc/ipc_batches.hpp"

namespace garuda::io {
namespace {

/// Bytes of a batch below which waking a thread a column costs more than decoding it.
constexpr std::int64_t kThreadedBytes = 1 << 16;

using BatchFileReader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

using Source = std::shared_ptr<arrow::io::RandomAccessFile>;

arrow::Result<BatchFileReader> make_reader(Source const& file, std::vector<int> columns, bool use_threads,
                                           arrow::MemoryPool* pool = memory_pool()) {
  return arrow::ipc::RecordBatchFileReader::Open(file, ipc_options(std::move(columns), use_threads, pool));
}

/// Batch `index` of the open file. When memory does not suffice, a second attempt tells whether the file is to blame.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> read_batch(arrow::ipc::RecordBatchFileReader& reader,
                                                              Source const& file, std::vector<int> const& columns,
                                                              int index) {
  auto batch = reader.ReadRecordBatch(index);
  if (!batch.status().IsOutOfMemory()) return batch;
  ARROW_ASSIGN_OR_RAISE(auto const bytes, file->GetSize());
  PlausiblePool pool(bytes);
  ARROW_ASSIGN_OR_RAISE(auto const again, make_reader(file, columns, false, &pool));
  auto const damaged = again->ReadRecordBatch(index).status();
  return damaged.IsInvalid() ? damaged : batch.status();
}

/// Whether nothing of the mapped file is compressed, as its first batch has it: then columns cost nothing until they
/// are looked at, while Arrow copies those that it is told to read.
arrow::Result<bool> lies_in_place(Source const& mapped, std::vector<int> const& columns) {
  ARROW_ASSIGN_OR_RAISE(auto const reader, make_reader(mapped, {}, false));
  if (reader->num_record_batches() == 0) return true;
  ARROW_ASSIGN_OR_RAISE(auto const bytes, mapped->GetSize());
  ARROW_ASSIGN_OR_RAISE(auto const file, mapped->ReadAt(0, bytes));
  ARROW_ASSIGN_OR_RAISE(auto const batch, read_batch(*reader, mapped, {}, 0));
  for (int const column : columns)
    for (auto const& buffer : batch->column_data(column)->buffers)
      if (buffer != nullptr && buffer->size() > 0)
        return buffer->data() >= file->data() && buffer->data() < file->data() + bytes;
  return true;
}

class IpcCursor final : public SlicedCursor {
 public:
  IpcCursor(InputFile input, std::vector<int> columns, BatchFileReader reader, ReadOptions const& options,
            std::int64_t batch_rows)
      : SlicedCursor(input.sentence(), reader->schema(), options, batch_rows),
        input_(std::move(input)),
        columns_(std::move(columns)),
        reader_(std::move(reader)) {}

  double fraction_read() const noexcept override {
    auto const batches = reader_->num_record_batches();
    return batches == 0 ? 1.0 : (next_batch_ + fraction_given() - 1.0) / batches;
  }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_batch() override {
    if (next_batch_ == reader_->num_record_batches()) return nullptr;
    // Arrow takes the memory of some of a file's columns from no pool that is told to it.
    bool const is_counted = columns_.empty();
    if (!is_counted && !BufferCeiling::instance().has_room(batch_bytes_))
      return arrow::Status::OutOfMemory("a batch does not fit the memory limit, bytes: ", batch_bytes_);
    ARROW_ASSIGN_OR_RAISE(auto batch, read_batch(*reader_, input_.file, columns_, next_batch_++));
    batch_bytes_ = static_cast<std::uint64_t>(row_bytes(*batch));
    return batch;
  }

  InputFile input_;
  std::vector<int> columns_;
  BatchFileReader reader_;
  int next_batch_ = 0;
  std::uint64_t batch_bytes_ = 0;  // of the last batch; the next one is taken to be as large
};

class IpcReader final : public FileReader {
 public:
  IpcReader(InputFile input, arrow::ipc::RecordBatchFileReader const& reader, std::int64_t bytes)
      : FileReader(std::move(input), reader.schema()),
        has_large_batches_(bytes >= kThreadedBytes * reader.num_record_batches()) {}

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) override {
    GARUDA_ARROW_TRY_ASSIGN(auto const mapped, map_file(*input_.file), ErrorCode::invalid_input, input_.sentence());
    bool const use_threads = has_large_batches_ && options.threads != 1;
    GARUDA_ARROW_TRY_ASSIGN(bool const in_place, lies_in_place(mapped, columns), ErrorCode::invalid_input,
                            input_.sentence());
    GARUDA_ARROW_TRY_ASSIGN(auto const reader,
                            make_reader(mapped, in_place ? std::vector<int>() : columns, use_threads),
                            ErrorCode::invalid_input, input_.sentence());
    IpcBatches batches(options.threads);
    for (int i = 0; i < reader->num_record_batches(); ++i) {
      GARUDA_TRY(check_cancelled(options.cancelled));
      GARUDA_ARROW_TRY_ASSIGN(auto batch, read_batch(*reader, mapped, columns, i), ErrorCode::invalid_input,
                              input_.sentence());
      if (in_place) {
        GARUDA_ARROW_TRY_ASSIGN(batch, batch->SelectColumns(columns), ErrorCode::invalid_input, input_.sentence());
      }
      GARUDA_ARROW_TRY(batches.add(std::move(batch)), ErrorCode::invalid_input, input_.sentence());
    }
    GARUDA_ARROW_TRY_ASSIGN(auto all, batches.take(), ErrorCode::invalid_input, input_.sentence());
    return all;
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t batch_rows) override {
    auto const wanted = std::ssize(columns) == schema_->num_fields() ? std::vector<int>() : columns;
    GARUDA_ARROW_TRY_ASSIGN(auto reader, make_reader(input_.file, wanted, has_large_batches_ && options.threads != 1),
                            ErrorCode::invalid_input, input_.sentence());
    return std::make_unique<IpcCursor>(input_, wanted, std::move(reader), options, batch_rows);
  }

 private:
  bool has_large_batches_;
};

}  // namespace

Result<std::unique_ptr<FileReader>> open_ipc(InputFile input) {
  GARUDA_ARROW_TRY_ASSIGN(bool const is_stream, is_ipc_stream(*input.file), ErrorCode::invalid_input, input.sentence());
  if (is_stream) return open_ipc_stream(std::move(input));
  GARUDA_ARROW_TRY_ASSIGN(auto const reader, make_reader(input.file, {}, false), ErrorCode::invalid_input,
                          input.sentence());
  GARUDA_ARROW_TRY_ASSIGN(auto const bytes, input.file->GetSize(), ErrorCode::invalid_input, input.sentence());
  return std::make_unique<IpcReader>(std::move(input), *reader, bytes);
}

}  // namespace garuda::io
