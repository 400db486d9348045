// One run of a command from files to a file, a preview or a number: what every operator's command shares.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "cli/arguments/run_arguments.hpp"
#include "cli/files/run_stats.hpp"
#include "cli/run_start.hpp"
#include "cli/terminal.hpp"
#include "core/stopwatch.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "io/table_writer.hpp"

namespace garuda::cli {

/// Limits the threads of Arrow to `threads` while it lives; 0 leaves them.
class FileThreadLimit {
 public:
  /// Errors: usage, with Arrow's reason.
  static Result<FileThreadLimit> set(std::uint32_t threads);
  FileThreadLimit(FileThreadLimit&& other) noexcept;
  FileThreadLimit& operator=(FileThreadLimit&&) = delete;
  ~FileThreadLimit();

 private:
  explicit FileThreadLimit(std::uint32_t before) noexcept : before_(before) {}

  std::uint32_t before_;  ///< 0: not limited
};

class FileRun {
 public:
  /// Sets the control of `options`, and what counts the bytes that are read. All must outlive this.
  FileRun(RunRequest& request, RunOptions& options, RunStart& start);
  FileRun(FileRun const&) = delete;
  FileRun& operator=(FileRun const&) = delete;

  /// Limits Arrow's threads and runs `body`.
  Result<void> run(std::function<Result<void>()> const& body);

  /// Reads inputs by `read` and adds the time to what --stats shows.
  template <class Read>
  auto read(Read const& read) {
    Stopwatch const reading;
    auto inputs = read();
    times_.read_ns += reading.elapsed_ns();
    return inputs;
  }

  /// The engine, which is made from the start of the run on. Once.
  Result<std::shared_ptr<Engine>> engine();

  /// Writes a result to the output file, or shows its first rows; then the statistics. Errors: also the result's.
  template <class T>
  Result<void> take(Result<std::unique_ptr<T>> result) {
    if (!result) return propagate(std::move(result));
    return take_result(*std::move(result));
  }

  /// Prints a number of rows in place of these, then the statistics. Errors: also the count's.
  Result<void> print(Result<Engine::Counted> const& counted);

 private:
  Result<void> take_result(std::unique_ptr<QueryResult> result);
  Result<void> write(QueryResult& result);
  Result<void> show(QueryResult& result);
  void say(std::string_view text);
  void say_plan(Plan const& plan);
  void say_stats(RunStats const& stats, Plan const& plan);
  /// The text that --stats asks for; empty without it.
  std::string stats_text(RunStats const& stats, Plan const& plan);

  RunRequest const& request_;
  RunOptions& options_;
  RunStart& start_;
  ProgressBar bar_;
  io::WriteOptions write_options_;
  FileTimes times_;
  bool lacks_calibration_ = false;
  std::atomic<std::uint64_t> bytes_read_{0};
};

}  // namespace garuda::cli
