// A table's files, cut into what can be read by itself, also side by side for one who takes parts in their order.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/columns/file_columns.hpp"
#include "io/columns/file_rows.hpp"
#include "io/file_dictionaries.hpp"
#include "io/file_reader.hpp"

namespace garuda::io {

/// A file of a table, or a row group of it.
class TablePart {
 public:
  /// The next batch, as TableStream gives it; nullptr after the last.
  Result<std::shared_ptr<arrow::RecordBatch>> next();

  /// Share of the table that has been read once this part has come so far, an estimate.
  double fraction_read() const noexcept;

  /// BatchCursor::rest.
  void rest() { cursor_->rest(); }

 private:
  friend class TableParts;
  TablePart() = default;

  std::shared_ptr<ChosenColumns const> file_;
  std::shared_ptr<FolderColumns const> folders_;
  std::shared_ptr<arrow::Schema> schema_;  ///< of the table; nullptr: the file's, which is the only one
  std::vector<int> positions_;             ///< of the first file's columns in this one
  std::size_t index_ = 0;                  ///< of the file
  std::size_t num_files_ = 0;
  double fraction_before_ = 0;  ///< of the file
  std::unique_ptr<BatchCursor> cursor_;
  FileDictionaries dictionaries_;
};

/// The parts of a table in its order, each opened when it is asked for. Not thread-safe.
class TableParts {
 public:
  /// `ahead_bytes`: memory for reading several parts side by side. Row groups of Parquet are parts where it is enough
  /// for two. Errors: those of read_table, of the first file.
  static Result<std::unique_ptr<TableParts>> open(TableFiles const& files, ReadOptions const& options,
                                                  std::int64_t batch_rows, std::uint64_t ahead_bytes);

  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }

  /// Parts that may be read side by side, at least 1.
  std::size_t side_by_side() const noexcept { return side_by_side_; }

  /// The next part, nullptr after the last. Errors: those of read_table, of one file.
  Result<std::unique_ptr<TablePart>> next();

  /// Begins again, with the part at this position.
  Result<void> restart(std::size_t part);

 private:
  TableParts(TableFiles files, std::int64_t batch_rows) : files_(std::move(files)), batch_rows_(batch_rows) {}

  Result<void> open_file();
  Result<void> find_row_groups();
  Result<std::unique_ptr<TablePart>> part_of_file();
  bool at_end_of_file() const noexcept { return next_in_file_ == std::max<std::size_t>(row_groups_.size(), 1); }

  TableFiles files_;
  std::int64_t batch_rows_;
  std::shared_ptr<FolderColumns const> folders_;  // refers to the files
  std::size_t side_by_side_ = 1;
  std::shared_ptr<arrow::Schema> first_file_;    // all columns of the first file
  std::shared_ptr<arrow::Schema> first_schema_;  // of the first file
  std::shared_ptr<arrow::Schema> schema_;
  std::size_t num_opened_ = 0;
  std::size_t num_counted_ = 0;  // files whose bytes are counted
  // The file that was opened last:
  std::shared_ptr<ChosenColumns const> file_;
  std::vector<int> positions_;
  std::vector<int> row_groups_;  // that are parts; empty: the file is one
  std::size_t next_in_file_ = 0;
  std::unique_ptr<TablePart> first_;  // of the first file, which was opened for its schema
};

/// Threads that each take one part after the other and leave its batches, until these weigh what they may. The part
/// whose turn it is goes on at any rate, one batch at a time, so that parts of any size get through.
class ReadAhead {
 public:
  /// `bytes`: of batches that wait. `parts` is left to this. Starts as many threads as can be had.
  ReadAhead(std::shared_ptr<TableParts> parts, std::size_t threads, std::uint64_t bytes);
  /// Waits for the batches that are being read.
  ~ReadAhead();
  ReadAhead(ReadAhead const&) = delete;
  ReadAhead& operator=(ReadAhead const&) = delete;

  std::size_t num_threads() const noexcept { return threads_.size(); }

  struct Rows {
    std::shared_ptr<arrow::RecordBatch> batch;  ///< nullptr: there are no more
    double fraction_read = 0;                   ///< of the table, with these
  };

  /// The next batch. Requires a thread. Errors: those of TableParts and TablePart, of the first part that has one.
  Result<Rows> next();

  /// Parts that have come whole, and the rows that have come of the one after them.
  std::size_t parts_done() const noexcept { return first_; }
  std::int64_t rows_of_part() const noexcept { return rows_of_part_; }

 private:
  struct Waiting {
    Rows rows;
    std::uint64_t bytes = 0;
  };
  /// A part that is being read or waits.
  struct Slot {
    std::deque<Waiting> waiting;
    bool is_read = false;  ///< whole, or as far as it could be
    Result<void> outcome;
  };

  void work() noexcept;
  bool read_next_part();
  Result<void> read_rest(TablePart& part, std::size_t number);
  bool leave(std::size_t number, Rows rows);
  Slot& slot(std::size_t number) { return *slots_[number - first_]; }

  std::shared_ptr<TableParts> parts_;
  std::uint64_t most_bytes_;
  std::mutex opening_;  // held by whoever asks for the next part
  std::mutex mutex_;    // of all below
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Slot>> slots_;  // from the part `first_`
  std::size_t first_ = 0;
  std::int64_t rows_of_part_ = 0;  // that came of the part `first_`
  std::uint64_t bytes_ = 0;        // that wait
  bool at_end_ = false;            // no more parts are asked for
  bool stopped_ = false;
  std::exception_ptr exception_;
  std::vector<std::thread> threads_;
};

}  // namespace garuda::io
