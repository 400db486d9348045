// Arrow IPC files (Feather version 2).
#include <arrow/util/compression.h>

#include <utility>

#include "io/columns/stored_types.hpp"
#include "io/own_unions.hpp"
#include "io/row_writer.hpp"

namespace garuda::io {
namespace {

class IpcRowWriter final : public RowWriter {
 public:
  IpcRowWriter(std::shared_ptr<arrow::ipc::RecordBatchWriter> file, std::uint32_t threads)
      : file_(std::move(file)), threads_(threads) {}

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    ARROW_ASSIGN_OR_RAISE(auto const decoded, decoded_batch(batch, threads_));
    ARROW_ASSIGN_OR_RAISE(auto const own, with_own_unions(decoded));
    return file_->WriteRecordBatch(*own);
  }
  arrow::Status finish() override { return file_->Close(); }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchWriter> file_;
  std::uint32_t threads_;
};

}  // namespace

arrow::Result<std::unique_ptr<RowWriter>> make_ipc_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                          OutputStream sink, RowWriterOptions const& writer_options) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.memory_pool = memory_pool();
  options.emit_dictionary_deltas = true;
  options.use_threads = false;
  if (writer_options.compression != Compression::none) {
    bool const is_lz4 = writer_options.compression == Compression::lz4;
    ARROW_ASSIGN_OR_RAISE(
        options.codec, arrow::util::Codec::Create(is_lz4 ? arrow::Compression::LZ4_FRAME : arrow::Compression::ZSTD));
    options.use_threads = may_use_threads(writer_options.threads != 1);
  }
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::ipc::MakeFileWriter(std::move(sink), decoded_schema(*schema), options));
  return std::make_unique<IpcRowWriter>(std::move(file), writer_options.threads);
}

}  // namespace garuda::io
