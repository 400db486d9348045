// The engine of a command, made, and its device opened, while its files are read.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

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

}  // namespace garuda::cli
