// Reads a table's files piece by piece: tables that are larger than memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

class FolderColumns;

/// The rows that read_table would give, batch by batch. Not thread-safe. Move-only.
class TableStream {
 public:
  /// `batch_rows`: most rows of a batch; a block of a CSV file may have more. Errors: those of read_table.
  static Result<TableStream> open(TableFiles const& files, ReadOptions const& options, std::int64_t batch_rows);

  TableStream(TableStream&&) noexcept;
  TableStream& operator=(TableStream&&) noexcept;
  ~TableStream();

  /// As read_table would have it.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }

  /// Returns the next batch, nullptr after the last. Every value has been validated; dictionaries, which hold no
  /// nulls, are those of the file, so that they may differ between batches. Errors: those of read_table.
  Result<std::shared_ptr<arrow::RecordBatch>> next();

  /// Share of the files that has been read, an estimate; 1 at the end.
  double fraction_read() const noexcept;

  /// Lets go of what is kept to read on, as long as next() is not called.
  void rest();

 private:
  class FileStream;
  TableStream();
  Result<void> open_next();

  std::unique_ptr<TableFiles> files_;
  std::unique_ptr<FolderColumns> folders_;  // refers to the files
  std::int64_t batch_rows_ = 0;
  std::size_t num_opened_ = 0;
  std::unique_ptr<FileStream> file_;            // the one that was opened last
  std::shared_ptr<arrow::Schema> file_schema_;  // of the first one
  std::vector<int> positions_;                  // of its columns in the one that is open
  std::shared_ptr<arrow::Schema> schema_;
  bool at_end_ = false;
};

}  // namespace garuda::io
