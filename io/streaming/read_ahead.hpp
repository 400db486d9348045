// Reads the parts of a table side by side, for one who takes them in their order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/streaming/table_parts.hpp"

namespace garuda::io {

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
