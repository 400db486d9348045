// Reads a table's files piece by piece: tables that are larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

class ReadAhead;
class TablePart;
class TableParts;

/// The rows that read_table would give, batch by batch. Not thread-safe. Move-only.
class TableStream {
 public:
  /// `batch_rows`: most rows of a batch; a block of a CSV file may have more. `ahead_bytes`: memory for row groups of
  /// Parquet files that `options.threads` read side by side before they are asked for; 0, or too little for two of
  /// them: one after the other. Errors: those of read_table.
  static Result<TableStream> open(TableFiles const& files, ReadOptions const& options, std::int64_t batch_rows,
                                  std::uint64_t ahead_bytes = 0);

  TableStream(TableStream&&) noexcept;
  TableStream& operator=(TableStream&&) noexcept;
  ~TableStream();

  /// The schema that read_table would give.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }

  /// Returns the next batch, nullptr after the last. Every value has been validated; dictionaries, which hold no
  /// nulls, are those of the file, so that they may differ between batches. Errors: those of read_table.
  Result<std::shared_ptr<arrow::RecordBatch>> next();

  /// Share of the files that has been read, an estimate; 1 at the end.
  double fraction_read() const noexcept { return fraction_read_; }

  /// The part of open's `ahead_bytes` that is taken while next() is called, on any number of threads.
  std::uint64_t ahead_bytes() const noexcept { return ahead_bytes_; }
  /// Row groups that are read side by side.
  std::size_t readers() const noexcept { return readers_; }

  /// Lets go of what is kept to read on, as long as next() is not called.
  void rest();

 private:
  TableStream();
  Result<void> start();
  Result<std::shared_ptr<arrow::RecordBatch>> next_alone();

  std::shared_ptr<TableParts> parts_;
  std::unique_ptr<TablePart> part_;  // the one that is read, where none are read ahead
  std::unique_ptr<ReadAhead> ahead_;
  std::shared_ptr<arrow::Schema> schema_;
  std::size_t threads_ = 1;
  std::size_t readers_ = 1;
  std::uint64_t ahead_bytes_ = 0;
  double fraction_read_ = 0;
  bool at_end_ = false;
  // Where parts are read ahead, how to go on after a rest:
  bool rests_ = false;
  std::size_t parts_done_ = 0;
  std::int64_t rows_to_skip_ = 0;
};

}  // namespace garuda::io
