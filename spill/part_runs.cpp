#include "spill/part_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::spill {

void PartRuns::follow_first(RunOptions& options) const {
  if (plan_) options.path = plan_->path;
  options.control.on_progress = nullptr;
}

void PartRuns::settle(RunOptions& options, std::uint64_t limit_bytes, std::uint64_t data_bytes) const {
  follow_first(options);
  options.memory_limit_bytes = limit_bytes - std::min(limit_bytes - 1, data_bytes);
}

void PartRuns::started(Plan const& plan) {
  if (plan_) return;
  plan_ = plan;
  stats_.path = plan.path;
  stats_.device = plan.device;
  stats_.driver = plan.driver;
}

void PartRuns::ended(RunStats const& stats, bool is_only) {
  recorder_.absorb(stats);
  std::lock_guard const lock(ending_);
  ++parts_done_;
  if (control_.on_progress && !is_only) control_.on_progress({phase_, parts_done_, 0, rows_out_});
}

std::string PartRuns::describe_partitions(std::string_view what) const {
  std::uint64_t partitions = 0;
  std::uint64_t bytes = 0;
  for (auto const& [name, value] : recorder_.counters()) {
    if (name == "spilled_partitions") partitions = value;
    if (name == "spilled_bytes") bytes = value;
  }
  return fmt::format("{} partitions {}, {} bytes in temporary files", partitions, what, bytes);
}

RunStats PartRuns::stats() const {
  auto stats = stats_;
  stats.rows_out = rows_out_;
  stats.total_ns = watch_.elapsed_ns();
  stats.phases = recorder_.phases();
  stats.counters = recorder_.counters();
  return stats;
}

}  // namespace garuda::spill
