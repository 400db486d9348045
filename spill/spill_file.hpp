// Rows on disk, in Arrow's IPC file format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/os/file.hpp"
#include "core/os/temporary_folder.hpp"
#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"

namespace garuda::spill {

using os::TemporaryFolder;

/// Gives a table's batches one by one, nullptr after the last.
using NextBatch = std::function<Result<std::shared_ptr<arrow::RecordBatch>>()>;

/// Rows and what they take in memory.
struct RowVolume {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;

  RowVolume& operator+=(RowVolume const& other) noexcept {
    rows += other.rows;
    bytes += other.bytes;
    return *this;
  }
};

/// Returns the volume of `batch`; of buffers that it shares with others, only its own rows count.
/// Errors: invalid_input for types of which Arrow cannot tell.
Result<RowVolume> volume_of(arrow::RecordBatch const& batch);
Result<RowVolume> volume_of_all(io::ArrowBatches const& batches);

/// Returns `batch` with a last column of int64: the numbers of its rows, from `first` on. Errors: those of Arrow.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> numbered(arrow::RecordBatch const& batch, std::string const& name,
                                                            std::int64_t first);

/// Returns `batch` with fields that have a name and a type alone, and extension types as what they are stored as: then
/// batches have one schema whatever part of a result they come from, and one spill file takes them.
std::shared_ptr<arrow::RecordBatch> storable(arrow::RecordBatch const& batch);

/// Rows that were written once and can be read any number of times. Takes a file when the first row comes. Move-only.
class SpillFile {
 public:
  /// `folder` must outlive this.
  SpillFile(TemporaryFolder const& folder, std::shared_ptr<arrow::Schema> schema);
  SpillFile(SpillFile&&) noexcept;
  SpillFile& operator=(SpillFile&&) noexcept;
  ~SpillFile();

  RowVolume const& volume() const noexcept { return volume_; }
  /// Bytes of the file; complete after finish.
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }

  /// Appends the rows of `batch`, which has the schema. Blocks. Errors: output, naming the folder; out_of_memory.
  Result<void> write(arrow::RecordBatch const& batch);

  /// Ends the writing. Errors: those of write.
  Result<void> finish();

  /// Gives the batches as they were written. This must outlive the function that is returned. Requires finish.
  /// Errors, of this and of the function: output when the file is not what was written; out_of_memory.
  Result<NextBatch> read() const;
  /// Reads all of them at once. Requires finish. Errors: those of read.
  Result<io::ArrowBatches> read_all() const;

 private:
  struct Writer;

  Result<void> open();

  TemporaryFolder const* folder_;
  std::shared_ptr<arrow::Schema> schema_;
  os::FileDescriptor descriptor_;
  std::unique_ptr<Writer> writer_;
  RowVolume volume_;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace garuda::spill
