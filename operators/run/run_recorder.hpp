// Collects what a run did: phases, counters, notes. Shared by all lanes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/plan.hpp"
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

}  // namespace garuda::run
