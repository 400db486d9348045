// The state of a query from its call to its last batch: threads, what was recorded, budgets of the host's memory.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "core/task_threads.hpp"
#include "garuda/control.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/contract/stats_sink.hpp"

namespace garuda::run {

/// Thread-safe StatsSink. Phases keep the order in which they were first seen.
class RunRecorder final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) override;
  void add_counter(std::string_view name, std::uint64_t value) override;
  void max_counter(std::string_view name, std::uint64_t value) override;
  void note(std::string text) override;

  /// Adds what `other` collected.
  void absorb(RunRecorder const& other);
  /// Adds the phases and counters of a run that has ended.
  void absorb(RunStats const& stats);

  std::vector<PhaseStats> phases() const;
  std::vector<std::pair<std::string, std::uint64_t>> counters() const;
  std::vector<std::string> notes() const;

  /// `plan` with what was noted since.
  Plan with_notes(Plan plan) const;
  /// Statistics of a run that began at `start`: phases, counters and the time until now. Path, device and
  /// rows are the caller's to fill.
  RunStats stats_since(std::chrono::steady_clock::time_point start) const;

 private:
  struct Counter {
    std::uint64_t value = 0;
    bool is_greatest = false;  // of what was said, not the sum
  };

  mutable std::mutex mutex_;
  std::vector<PhaseStats> phases_;
  std::map<std::string, Counter, std::less<>> counters_;
  std::vector<std::string> notes_;
};

using contract::PhaseTimer;

/// Bytes that can still be allocated without swapping, as the operating system estimates it, within the process's
/// control group where that is smaller, kept memory included; 0 when it is not known.
std::uint64_t free_host_bytes();

/// Bytes of memory that the host, or the process's control group, has in all; 0 when it is not known.
std::uint64_t total_host_bytes();

/// Most bytes of freed host memory that are kept for later: a quarter of the total.
std::uint64_t most_kept_host_bytes();

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
  WorkersElsewhere workers{arena};
  RunRecorder recorder;

 private:
  static inline std::atomic<std::uint64_t> num_alive{0};
};

}  // namespace garuda::run
