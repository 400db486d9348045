// Functions that readers of Arrow IPC files and streams share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/file_dictionaries.hpp"
#include "io/file_reader.hpp"

namespace garuda::io {

/// Maps the file as long as it is now; buffers within it are references. Reading what somebody has cut off since ends
/// the process with SIGBUS, and what somebody overwrites changes. Fails with IOError.
arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> map_file(arrow::io::ReadableFile const& file);

/// Copies those buffers of mapped batches that say where values are, and which there are: offsets, views, indices,
/// types of unions, ends of runs, validity. They are validated once and trusted from then on, while whoever overwrites
/// the file changes what is mapped. Values stay where they are. Keeps the dictionaries of the latest batch alive.
class OwnPlaces {
 public:
  /// Batches one after the other that share a dictionary share its copy. Errors: out of memory.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> of(arrow::RecordBatch const& batch);

 private:
  using Data = std::shared_ptr<arrow::ArrayData>;

  arrow::Result<Data> of(Data const& array);

  /// Copies of dictionaries by what was copied.
  using Dictionaries = std::unordered_map<Data, Data>;

  Dictionaries latest_;
  Dictionaries present_;  // of the batch that is being copied
};

/// Options of a reader of the columns at these positions, ascending; none: all.
arrow::ipc::IpcReadOptions ipc_options(std::vector<int> columns, bool use_threads, arrow::MemoryPool* pool);

/// Refuses what no file of `file_bytes` can hold, however it is compressed: a run of Zstandard, the densest there is,
/// takes 4 bytes for 128 KiB.
class PlausiblePool final : public arrow::ProxyMemoryPool {
 public:
  explicit PlausiblePool(std::int64_t file_bytes)
      : arrow::ProxyMemoryPool(memory_pool()), most_bytes_((file_bytes + 1) << 15) {}

  using arrow::ProxyMemoryPool::Allocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (size > most_bytes_) return arrow::Status::Invalid("a buffer is said to be longer than the file can make it");
    return arrow::ProxyMemoryPool::Allocate(size, alignment, out);
  }

 private:
  std::int64_t most_bytes_;
};

/// Whether a file is a stream: messages from its first byte on, in place of the name of the format.
arrow::Result<bool> is_ipc_stream(arrow::io::ReadableFile& file);

/// A file that is a stream.
Result<std::unique_ptr<FileReader>> open_ipc_stream(InputFile input);

/// Gives the batches of a file in pieces of at most `batch_rows` rows (batch_rows_of), each checked before.
class SlicedCursor : public BatchCursor {
 public:
  Result<std::shared_ptr<arrow::RecordBatch>> next() override;

 protected:
  SlicedCursor(std::string sentence, std::shared_ptr<arrow::Schema> schema, ReadOptions const& options,
               std::int64_t batch_rows);

  /// The file's next batch; nullptr: there is none.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_batch() = 0;
  /// How much of the present batch was given, in [0, 1]; 1 before the first one.
  double fraction_given() const noexcept;

 private:
  std::string sentence_;
  std::atomic<bool> const* cancelled_;
  std::int64_t batch_rows_;
  std::int64_t piece_rows_ = 0;  // of the present batch, at most
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t taken_ = 0;
};

/// The batches of a mapped file, of which small ones are joined.
class IpcBatches {
 public:
  explicit IpcBatches(std::uint32_t threads) : threads_(threads) {}

  /// The batch's lengths, offsets and buffers are checked against each other: the file says how long its buffers are
  /// and how many rows it has, and nothing may be read before they agree.
  arrow::Status add(std::shared_ptr<arrow::RecordBatch> batch);

  /// Takes all batches, once.
  arrow::Result<ArrowBatches> take();

 private:
  arrow::Status join_small();

  std::uint32_t threads_;
  ArrowBatches batches_;
  ArrowBatches small_;
  std::int64_t small_rows_ = 0;
  FileDictionaries dictionaries_;
  OwnPlaces places_;
};

}  // namespace garuda::io
