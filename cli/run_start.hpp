// The start of a command from files to a file, a preview or a number, before its files are read.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "cli/arguments/run_arguments.hpp"
#include "cli/interrupt.hpp"
#include "core/kept_memory.hpp"
#include "core/os/output_file.hpp"
#include "core/stopwatch.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda::cli {

/// Finding devices loads their drivers, and a path that was asked for opens its own, some tens of milliseconds each,
/// which a thread of its own does meanwhile; the CPU path has none. Nothing waits for it where the command ends before.
/// Where there is no SharedEngine the engine's devices are left to the end of the process.
class EngineStart {
 public:
  /// `input_bytes`: of the files that the command reads. For few a single queue is opened, unless a SharedEngine keeps
  /// the engine for others.
  EngineStart(RunOptions const& options, std::uint64_t kept_beside_limit_bytes, std::uint64_t input_bytes);

  /// Where files are small and a device is opened for them: waits until the engine has been made, whose device may not
  /// be open yet. Else nothing. While a driver is loaded no other library can be, so what is loaded first holds the
  /// other up; behind a driver's it costs nothing, for opening a device takes longer than such files.
  void let_drivers_load();

  /// Whether `take` waits.
  bool is_on_its_way() const;

  /// Waits for the engine. Once. Errors: those of Engine::create.
  Result<std::shared_ptr<Engine>> take();

  /// Times of making the engine, then of opening a device, and of waiting for both.
  struct Times {
    std::uint64_t made_ns = 0;
    std::uint64_t opened_ns = 0;
    std::uint64_t waited_ns = 0;
  };
  Times const& times() const noexcept { return times_; }

 private:
  friend class SharedEngine;
  /// Properties that an engine must have.
  struct Wanted {
    bool devices = false;
    std::uint64_t kept_beside_limit_bytes = 0;
    bool single_queue = false;
  };
  struct StartedEngine {
    Result<std::shared_ptr<Engine>> engine;
    std::uint64_t made_ns = 0;
    std::uint64_t opened_ns = 0;
  };

  bool is_new_ = true;
  std::shared_future<StartedEngine> made_;
  std::future<void> drivers_loaded_;  ///< valid where somebody is to wait for it
  Times times_;
};

/// Has commands that run in turn share an engine as long as they want the same of it. There is one at a time, on the
/// thread that runs them.
class SharedEngine {
 public:
  SharedEngine();
  ~SharedEngine();
  SharedEngine(SharedEngine const&) = delete;
  SharedEngine& operator=(SharedEngine const&) = delete;

 private:
  friend class EngineStart;
  struct Start {
    std::shared_future<EngineStart::StartedEngine> made;
    EngineStart::Wanted made_for;

    bool serves(EngineStart::Wanted const& wanted) const;
  };
  static std::optional<std::vector<Start>> kept_;  ///< while one lives: all engines that were made
};

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
