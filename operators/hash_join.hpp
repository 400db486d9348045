// The partitioned hash join (GARUDA §3), the same for every path.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <oneapi/tbb/task_arena.h>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/join_columns.hpp"
#include "operators/join_kernel.hpp"
#include "operators/join_planner.hpp"
#include "operators/join_registry.hpp"
#include "operators/join_slices.hpp"
#include "operators/lane_scheduler.hpp"
#include "operators/run_recorder.hpp"
#include "partition/key_encoding.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {

/// A join resolved against its tables, and what it may run on. What the views and `devices` refer to outlives every
/// result.
struct JoinRequest {
  TableView left;
  TableView right;
  JoinSpec spec;
  ResolvedJoin columns;
  JoinOptions options;
  DeviceSet* devices = nullptr;
};

/// Both tables' keys, encoded, and what has been decided about them.
struct PlannedJoin {
  partition::EncodedJoinKeys keys;
  JoinPlan plan;
  partition::DigitChoice digit;
};

/// Encodes the keys, plans, and chooses the radix digit. Blocks; uses the arena's threads.
/// Errors: those of encode_join_keys, plan_join and choose_digit.
Result<PlannedJoin> plan_keys(JoinRequest const& request, oneapi::tbb::task_arena& arena, StatsSink& stats);

/// A join whose inputs are partitioned and whose path is open: gives its row pairs, or their number, once.
class PartitionedJoin {
 public:
  /// Encodes, plans, partitions, opens the path. Blocks until that is done.
  /// Errors: those of plan_keys, radix_partition and the path's open function.
  static Result<std::unique_ptr<PartitionedJoin>> prepare(JoinRequest const& request);

  PartitionedJoin(PartitionedJoin const&) = delete;
  PartitionedJoin& operator=(PartitionedJoin const&) = delete;
  /// Cancels what still runs.
  ~PartitionedJoin();

  /// Returns the number of rows; enumerates no pair. Blocks. Call at most one of count and next_pairs.
  Result<std::uint64_t> count();

  /// Returns the next pairs in the order of partitions, nullopt at the end. The lanes start with the first call.
  Result<std::optional<PairChunk>> next_pairs();

  Plan plan() const;
  RunStats stats(std::uint64_t rows_out) const;
  oneapi::tbb::task_arena& arena() noexcept { return arena_; }
  RunRecorder& recorder() noexcept { return recorder_; }
  std::uint64_t chunk_rows() const noexcept { return plan_.plan.chunk_rows; }

 private:
  /// Receives the pairs of one window; false: stop. In counting runs pairs are never asked for.
  using Emit = LaneScheduler::Emit;

  explicit PartitionedJoin(JoinRequest const& request);

  Result<void> partition_keys(PlannedJoin planned);
  Result<partition::PartitionedKeys> partition_side(partition::EncodedKeys keys, partition::DigitCounts counts);
  Result<void> open_path();
  std::unique_ptr<LaneScheduler> start_lanes(bool count_only);
  Result<void> join_slice(std::uint32_t lane, SliceTask const& slice, Emit const* emit, std::uint64_t* rows);
  Result<void> run_kernel(std::uint32_t lane, SliceTask const& slice, Emit const* emit, std::uint64_t* rows);
  Result<void> emit_pairs(JoinKernel& kernel, std::uint64_t count, SliceTask const& slice, Emit const& emit);
  void report_progress();

  std::atomic<bool> abandoned_{false};  // set when the join is destroyed before its end
  TableView left_table_;
  TableView right_table_;
  JoinOptions options_;
  DeviceSet* devices_;
  std::chrono::steady_clock::time_point start_;
  oneapi::tbb::task_arena arena_;
  RunRecorder recorder_;
  JoinPlan plan_;
  partition::RadixDigit digit_;
  partition::PartitionedKeys left_;
  partition::PartitionedKeys right_;
  std::vector<SliceTask> slices_;
  std::unique_ptr<JoinBackend> backend_;
  std::mutex progress_mutex_;
  std::size_t slices_done_ = 0;
  std::atomic<std::uint64_t> rows_counted_{0};
  std::unique_ptr<LaneScheduler> scheduler_;  // last: its lanes use everything above
};

/// Starts the join; see Engine::join.
Result<std::unique_ptr<JoinResult>> hash_join(JoinRequest request);

/// Counts its rows; see Engine::join_count.
Result<Engine::Counted> hash_join_count(JoinRequest const& request);

/// Plans without running; see Engine::explain_join.
Result<Plan> explain_hash_join(JoinRequest const& request);

}  // namespace garuda::operators
