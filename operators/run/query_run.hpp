// The state of a query from its call to its last batch.
#pragma once

#include <atomic>
#include <chrono>

#include <oneapi/tbb/task_arena.h>

#include "core/arena_threads.hpp"
#include "garuda/control.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/run/run_recorder.hpp"

namespace garuda::run {

/// A query's threads, and its phases and progress. Does not move: lanes and paths refer to it.
struct QueryRun {
  explicit QueryRun(RunOptions const& options)
      : start(std::chrono::steady_clock::now()), arena(arena_threads(options.threads)) {
    ++num_alive;
  }
  QueryRun(QueryRun const&) = delete;
  QueryRun& operator=(QueryRun const&) = delete;
  ~QueryRun() { --num_alive; }

  /// Queries of this process that run, or whose result is not destroyed.
  static std::uint64_t alive() noexcept { return num_alive; }

  std::uint32_t threads() const { return static_cast<std::uint32_t>(arena.max_concurrency()); }
  /// Statistics of `plan` so far, by path and device; the caller fills in the rows.
  RunStats stats(Plan const& plan) const {
    auto stats = recorder.stats_since(start);
    stats.path = plan.path;
    stats.device = plan.device;
    stats.driver = plan.driver;
    return stats;
  }

  std::atomic<bool> abandoned{false};  ///< set when its result is destroyed before its end
  std::chrono::steady_clock::time_point start;
  oneapi::tbb::task_arena arena;
  RunRecorder recorder;

 private:
  static inline std::atomic<std::uint64_t> num_alive{0};
};

}  // namespace garuda::run
