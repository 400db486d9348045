// Reads a file piece by piece: tables that are larger than memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

class FileReader;
class BatchCursor;
class FileDictionaries;

/// The rows that read_table would give, batch by batch. Not thread-safe. Move-only.
class TableStream {
 public:
  /// `batch_rows`: most rows of a batch; a block of a CSV file may have more. Errors: those of read_table.
  static Result<TableStream> open(std::filesystem::path const& path, ReadOptions const& options,
                                  std::int64_t batch_rows);

  TableStream(TableStream&&) noexcept;
  TableStream& operator=(TableStream&&) noexcept;
  ~TableStream();

  /// As read_table would have it.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }

  /// Returns the next batch, nullptr after the last. Every value has been validated; dictionaries, which hold no
  /// nulls, are those of the file, so that they may differ between batches. Errors: those of read_table.
  Result<std::shared_ptr<arrow::RecordBatch>> next();

  /// Share of the file that has been read, an estimate; 1 at the end.
  double fraction_read() const noexcept;

 private:
  TableStream();

  std::string sentence_;
  std::unique_ptr<FileReader> reader_;
  std::unique_ptr<BatchCursor> cursor_;
  std::unique_ptr<FileDictionaries> dictionaries_;
  std::shared_ptr<arrow::Schema> schema_;
  bool at_end_ = false;
};

}  // namespace garuda::io
