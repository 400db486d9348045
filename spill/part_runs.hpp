// State that an operator's runs over the parts of spilled tables share: one plan, statistics, progress.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/stopwatch.hpp"
#include "garuda/control.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::spill {

/// Parts may end on several threads, after the first has started. Else not thread-safe, but for the recorder.
class PartRuns {
 public:
  /// `phase`: what progress is reported as, "join".
  PartRuns(std::string_view phase, Control control) : phase_(phase), control_(std::move(control)) {}

  run::RunRecorder& recorder() noexcept { return recorder_; }
  run::RunRecorder const& recorder() const noexcept { return recorder_; }

  /// Makes `options` those of a part: all parts take the path of the first, and progress is told here.
  void follow_first(RunOptions& options) const;
  /// follow_first() for a part whose tables take a share of the limit, which is no longer free.
  void settle(RunOptions& options, std::uint64_t limit_bytes, std::uint64_t data_bytes) const;

  /// Takes the plan of the first part, or of a table without rows where there is none: it says what ran where.
  void started(Plan const& plan);
  /// Takes what the run of a part did. `is_only`: it has told of its progress itself.
  void ended(RunStats const& stats, bool is_only = false);
  void add_rows_out(std::uint64_t rows) noexcept { rows_out_ += rows; }

  /// The plan of the first part.
  Plan plan() const { return plan_.value_or(Plan{}); }
  /// "N partitions WHAT, B bytes in temporary files", of what was spilled so far.
  std::string describe_partitions(std::string_view what) const;
  /// Statistics of all parts, but for the rows of the inputs.
  RunStats stats() const;

 private:
  std::string_view phase_;
  Control control_;
  Stopwatch watch_;
  run::RunRecorder recorder_;
  std::optional<Plan> plan_;
  RunStats stats_;
  std::mutex ending_;
  std::uint64_t parts_done_ = 0;
  std::uint64_t rows_out_ = 0;
};

}  // namespace garuda::spill
