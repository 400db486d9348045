// The start of a command from files to a file, a preview or a number, before its files are read.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/arguments/run_arguments.hpp"
#include "cli/arguments/threads.hpp"
#include "cli/engine_start.hpp"
#include "cli/interrupt.hpp"
#include "core/kept_memory.hpp"
#include "core/os/output_file.hpp"
#include "core/stopwatch.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda::cli {

struct FileCommands;

/// Where the result goes, the shares of a memory limit, and the engine on its way. Its parts end in the order in which
/// they have to.
class RunStart {
 public:
  /// Takes the memory that writing needs out of the limit in `options`. Both must outlive this.
  RunStart(RunRequest const& request, RunOptions& options);
  RunStart(RunStart const&) = delete;
  RunStart& operator=(RunStart const&) = delete;

  /// Limits oneTBB's threads, opens the output file if there is one, and starts the engine. Once. Errors: output.
  Result<void> open();

  /// Loads the library of the commands on files, or waits with it where that holds the engine up. Errors: those of
  /// load_file_commands.
  Result<FileCommands const*> file_commands();

  /// Since the command began.
  Stopwatch const& watch() const noexcept { return watch_; }
  /// The file that `open` opened; nullopt: none was asked for.
  std::optional<os::OutputFile>& file() noexcept { return file_; }
  /// The engine that open() started.
  EngineStart& engine() noexcept { return *engine_; }
  /// Time of loading the library, or of looking for it.
  std::uint64_t library_ns() const noexcept { return library_ns_; }
  /// The most bytes of a row group of the output where memory is limited; nullopt: it is not.
  std::optional<std::int64_t> row_group_bytes() const noexcept { return row_group_bytes_; }
  /// The part of a memory limit that is kept for writing, whose error does not name it; 0: nothing.
  std::uint64_t kept_for_writing() const noexcept { return kept_for_writing_; }

 private:
  void bound_memory() noexcept;
  void keep_within(std::uint64_t& limit_bytes);

  KeptMemory::Tenancy keeps_memory_;
  Stopwatch watch_;
  RunRequest const& request_;
  RunOptions const& options_;
  std::uint64_t library_ns_ = 0;
  std::uint64_t kept_beside_limit_ = 0;
  std::uint64_t kept_for_writing_ = 0;
  std::optional<std::int64_t> row_group_bytes_;
  std::optional<EngineStart> engine_;
  std::optional<TemporaryFileGuard> guard_;  // goes after the file
  std::optional<os::OutputFile> file_;
  std::optional<ThreadLimit> thread_limit_;
};

}  // namespace garuda::cli
