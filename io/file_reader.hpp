// The interface of the readers of the three formats, for table_reader.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

/// Batches of one file, one after the other.
class BatchCursor {
 public:
  explicit BatchCursor(std::shared_ptr<arrow::Schema> schema = nullptr) : schema_(std::move(schema)) {}
  virtual ~BatchCursor() = default;

  /// The columns that were asked for, with their final types.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }

  /// Returns the next batch, nullptr after the last; as checked as those of FileReader::read.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> next() = 0;

  /// Share of the file that has been read, an estimate.
  virtual double fraction_read() const noexcept = 0;

  /// Lets go of memory that next() can do without at the cost of reading again what it was filled from.
  virtual void rest() {}

 protected:
  std::shared_ptr<arrow::Schema> schema_;
};

/// Most rows of a batch where `batch_rows` are asked for of a table of which `rows` rows take `bytes` bytes: fewer
/// where rows are wide or values long, so that a batch takes no more than one of so many rows of 256 bytes, or has one
/// row. A table without rows does not say how wide they are.
inline std::int64_t batch_rows_of(std::int64_t batch_rows, std::int64_t rows, std::int64_t bytes) noexcept {
  if (rows == 0) return batch_rows;
  constexpr double kMostRowBytes = 256;
  auto const fitting = kMostRowBytes * static_cast<double>(batch_rows) * static_cast<double>(rows) /
                       static_cast<double>(std::max<std::int64_t>(bytes, 1));
  return fitting < static_cast<double>(batch_rows) ? std::max<std::int64_t>(static_cast<std::int64_t>(fitting), 1)
                                                   : batch_rows;
}

/// The parts of a file that can be read by themselves: row groups of Parquet.
class RowGroups {
 public:
  virtual ~RowGroups() = default;

  /// Rows of each.
  virtual std::vector<std::int64_t> rows() const = 0;

  /// How many values of the column at this position differ, about, in any of them; nullopt: the file does not say.
  virtual std::optional<std::uint64_t> estimated_values(int column) const = 0;

  /// The type that the column at this position has in batches that are read with `options`.
  virtual std::shared_ptr<arrow::DataType> type_as_read(int column, ReadOptions const& options) const = 0;

  /// Row groups that may have rows that `options` want, ascending. Errors: those of FileReader::read.
  virtual Result<std::vector<int>> wanted(ReadOptions const& options) const = 0;

  /// Bytes that streaming a row group takes beside its batches, an estimate: pages, and buffers that they come through.
  virtual std::uint64_t stream_bytes(std::vector<int> const& columns) const = 0;

  /// FileReader::stream of one row group. Thread-safe.
  virtual Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                                      std::int64_t batch_rows, int row_group) = 0;

  /// FileReader::read of row groups [first, end). Thread-safe.
  virtual Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options, int first,
                                    int end) = 0;
};

struct InputFile {
  std::string path;
  std::shared_ptr<arrow::io::ReadableFile> file;

  std::string sentence() const { return "cannot read " + path; }
};

/// One input file, opened, its schema read.
class FileReader {
 public:
  explicit FileReader(InputFile input, std::shared_ptr<arrow::Schema> schema = nullptr)
      : input_(std::move(input)), schema_(std::move(schema)) {}
  virtual ~FileReader() = default;

  /// All columns in the order of the file. A CSV file's types are those of its first block.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }

  /// Reads the columns at the positions `columns`, ascending and not empty. Lengths, offsets and buffers of the batches
  /// have been checked against each other by Arrow, and all values where validates() says so. CSV: at least one batch,
  /// whose schema has the final types. Errors: invalid_input, out_of_memory, cancelled; the sentence names the file.
  virtual Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) = 0;

  /// Whether read() has looked at every value, and those of dictionaries: a column is then looked at by the thread that
  /// decodes it.
  virtual bool validates() const noexcept { return false; }

  /// Row groups and bytes of the file that hold the columns at these positions, where `options` want them; all bytes
  /// where the format does not say where columns are.
  virtual FilesRead share_of(std::vector<int> const& /*columns*/, ReadOptions const& /*options*/) const {
    auto const bytes = static_cast<std::uint64_t>(input_.file->GetSize().ValueOr(0));
    return {0, 0, bytes, bytes};
  }

  /// The file's row groups, which live as long as the reader; nullptr: the format has none.
  virtual RowGroups* row_groups() noexcept { return nullptr; }

  /// Reads the rows of read() in their order, and holds no more of them than a batch and what decoding it takes.
  /// `batch_rows`: most rows of a batch, at least 1; a CSV file's blocks may have more. A CSV file is read once
  /// before, for the types of its columns. The reader must outlive the cursor.
  virtual Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                                      std::int64_t batch_rows) = 0;

 protected:
  InputFile input_;
  std::shared_ptr<arrow::Schema> schema_;
};

Result<std::unique_ptr<FileReader>> open_parquet(InputFile input);
Result<std::unique_ptr<FileReader>> open_ipc(InputFile input);
Result<std::unique_ptr<FileReader>> open_csv(InputFile input);

/// `cancelled`: ReadOptions::cancelled. Errors: cancelled.
inline Result<void> check_cancelled(std::atomic<bool> const* cancelled) {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
    return fail(ErrorCode::cancelled, "interrupted while reading");
  return {};
}

}  // namespace garuda::io
