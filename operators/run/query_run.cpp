#include "operators/run/query_run.hpp"

#include <algorithm>
#include <utility>

#include "core/kept_memory.hpp"
#include "core/os/memory.hpp"

namespace garuda::run {

void RunRecorder::add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) {
  std::lock_guard const lock(mutex_);
  auto found =
      std::find_if(phases_.begin(), phases_.end(), [&](PhaseStats const& phase) { return phase.name == name; });
  if (found == phases_.end()) found = phases_.insert(phases_.end(), PhaseStats{std::string(name)});
  found->ns += ns;
  found->bytes += bytes;
  found->items += items;
}

void RunRecorder::add_counter(std::string_view name, std::uint64_t value) {
  std::lock_guard const lock(mutex_);
  counters_.try_emplace(std::string(name)).first->second.value += value;
}

void RunRecorder::max_counter(std::string_view name, std::uint64_t value) {
  std::lock_guard const lock(mutex_);
  auto& kept = counters_.try_emplace(std::string(name)).first->second;
  kept = {std::max(kept.value, value), true};
}

void RunRecorder::note(std::string text) {
  std::lock_guard const lock(mutex_);
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

void RunRecorder::absorb(RunRecorder const& other) {
  for (auto const& phase : other.phases()) add_phase(phase.name, phase.ns, phase.bytes, phase.items);
  auto const counters = [&] {
    std::lock_guard const lock(other.mutex_);
    return other.counters_;
  }();
  for (auto const& [name, counter] : counters)
    counter.is_greatest ? max_counter(name, counter.value) : add_counter(name, counter.value);
  for (auto& text : other.notes()) note(std::move(text));
}

void RunRecorder::absorb(RunStats const& stats) {
  for (auto const& phase : stats.phases) add_phase(phase.name, phase.ns, phase.bytes, phase.items);
  for (auto const& [name, value] : stats.counters) add_counter(name, value);
}

std::vector<PhaseStats> RunRecorder::phases() const {
  std::lock_guard const lock(mutex_);
  return phases_;
}

std::vector<std::pair<std::string, std::uint64_t>> RunRecorder::counters() const {
  std::lock_guard const lock(mutex_);
  std::vector<std::pair<std::string, std::uint64_t>> listed;
  for (auto const& [name, counter] : counters_) listed.emplace_back(name, counter.value);
  return listed;
}

std::vector<std::string> RunRecorder::notes() const {
  std::lock_guard const lock(mutex_);
  return notes_;
}

Plan RunRecorder::with_notes(Plan plan) const {
  for (auto& text : notes()) plan.notes.push_back(std::move(text));
  return plan;
}

RunStats RunRecorder::stats_since(std::chrono::steady_clock::time_point start) const {
  RunStats stats;
  auto const elapsed = std::chrono::steady_clock::now() - start;
  stats.total_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count());
  stats.phases = phases();
  stats.counters = counters();
  return stats;
}

std::uint64_t free_host_bytes() {
  auto const available = os::available_memory_bytes();
  return available == 0 ? 0 : available + KeptMemory::instance().kept_bytes();
}

std::uint64_t total_host_bytes() { return os::total_memory_bytes(); }

std::uint64_t most_kept_host_bytes() {
  constexpr std::uint64_t kKeptShare = 4;
  return total_host_bytes() / kKeptShare;
}

}  // namespace garuda::run
