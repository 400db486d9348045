// Counters that a run reports, kept for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/contract/stats_sink.hpp"

namespace garuda::testing {

/// Counters and notes of a run.
class Counters final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t, std::uint64_t) override {
    std::lock_guard const lock(mutex_);
    phases_[std::string(name)] += ns;
  }
  void add_counter(std::string_view name, std::uint64_t value) override {
    std::lock_guard const lock(mutex_);
    values_[std::string(name)] += value;
  }
  void max_counter(std::string_view name, std::uint64_t value) override {
    std::lock_guard const lock(mutex_);
    auto& kept = values_[std::string(name)];
    kept = std::max(kept, value);
  }
  void note(std::string text) override { notes_.push_back(std::move(text)); }

  std::uint64_t value(std::string const& name) const {
    auto const found = values_.find(name);
    return found == values_.end() ? 0 : found->second;
  }
  std::map<std::string, std::uint64_t> const& phases() const { return phases_; }
  std::vector<std::string> const& notes() const { return notes_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> values_;
  std::map<std::string, std::uint64_t> phases_;
  std::vector<std::string> notes_;
};

}  // namespace garuda::testing
