// The engine of a command, made while its files are read.
#pragma once

#include <cstdint>
#include <future>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda::cli {

/// Finding devices loads their drivers, some tens of milliseconds each, which a thread of its own does meanwhile; the
/// CPU path has none. Nothing waits for it where the command ends before. The engine's devices are left to the end of
/// the process.
class EngineStart {
 public:
  EngineStart(RunOptions const& options, std::uint64_t kept_beside_limit_bytes);

  /// Waits for the engine. Once. Errors: those of Engine::create.
  Result<Engine> take();

  /// What making the engine took, and how long `take` waited for it.
  struct Times {
    std::uint64_t made_ns = 0;
    std::uint64_t waited_ns = 0;
  };
  Times const& times() const noexcept { return times_; }

 private:
  struct Made {
    Result<Engine> engine;
    std::uint64_t ns = 0;
  };

  std::future<Made> made_;
  Times times_;
};

}  // namespace garuda::cli
