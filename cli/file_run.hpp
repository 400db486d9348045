// One run of a command from files to a file, a preview or a number: what every operator's command shares.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/arguments/run_arguments.hpp"
#include "cli/engine_start.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/run_stats.hpp"
#include "core/kept_memory.hpp"
#include "core/os/output_file.hpp"
#include "core/stopwatch.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "io/table_writer.hpp"

namespace garuda::cli {

/// Its parts end in the order in which they have to.
class FileRun {
 public:
  /// Takes the memory that writing needs out of the limit in `options`, and sets their control and what counts the
  /// bytes that are read. Both must outlive this.
  FileRun(RunRequest& request, RunOptions& options);
  FileRun(FileRun const&) = delete;
  FileRun& operator=(FileRun const&) = delete;

  /// Limits the threads, opens the output file if there is one, and runs `body`.
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

  /// Writes the result to the output file, or shows its first rows; then the statistics.
  Result<void> take(std::unique_ptr<QueryResult> result);

  /// Prints a number in place of a result, then the statistics.
  Result<void> print_number(std::uint64_t number, RunStats const& stats, Plan const& plan);

 private:
  void keep_within(std::uint64_t& limit_bytes);
  Result<void> write(QueryResult& result);
  Result<void> show(QueryResult& result);
  void say(std::string_view text);
  void say_plan(Plan const& plan);
  void say_stats(RunStats const& stats, Plan const& plan);

  KeptMemory::Tenancy keeps_memory_;
  Stopwatch watch_;
  RunRequest const& request_;
  RunOptions& options_;
  ProgressBar bar_;
  io::WriteOptions write_options_;
  std::uint64_t kept_beside_limit_ = 0;
  std::uint64_t kept_for_writing_ = 0;  ///< of a memory limit, whose error does not name it
  FileTimes times_;
  std::optional<EngineStart> engine_;
  bool lacks_calibration_ = false;
  std::atomic<std::uint64_t> bytes_read_{0};
  std::optional<TemporaryFileGuard> guard_;  // goes after the file
  std::optional<os::OutputFile> file_;
};

}  // namespace garuda::cli
