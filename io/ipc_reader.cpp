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
      GARUDA_TRY(check_cancelled(options));
      GARUDA_ARROW_TRY_ASSIGN(auto batch, reader->ReadRecordBatch(i), ErrorCode::invalid_input, input_.sentence());
      // The file says how long its buffers are and how many rows it has; nothing may be read before they agree.
      GARUDA_ARROW_TRY(batch->Validate(), ErrorCode::invalid_input, input_.sentence());
      batches.push_back(std::move(batch));
    }
    return batches;
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
