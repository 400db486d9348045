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
#include "operators/batch_builder.hpp"
#include "operators/join_columns.hpp"
#include "operators/join_kernel.hpp"
#include "operators/join_planner.hpp"
#include "operators/join_registry.hpp"
#include "operators/join_request.hpp"
#include "operators/join_slices.hpp"
#include "operators/lane_scheduler.hpp"
#include "operators/run_recorder.hpp"
#include "partition/key_encoding.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {

/// What a join is run for.
enum class JoinOutput : std::uint8_t {
  count,    ///< the number of its rows
  pairs,    ///< pairs of row ids
  batches,  ///< result columns, made by the lanes; the CPU path only, others give pairs
};

/// Both tables' keys, encoded, and what has been decided about them.
struct PlannedJoin {
  partition::EncodedJoinKeys keys;
  JoinPlan plan;
  partition::DigitChoice digit;
  std::vector<std::size_t> left_carried;  ///< columns that are moved along with the keys
  std::vector<std::size_t> right_carried;
  double expected_matches = 0;
};

/// Encodes the keys, plans, and chooses the radix digit. Blocks; uses the arena's threads.
/// Errors: those of encode_join_keys, plan_join and choose_digit.
Result<PlannedJoin> plan_keys(JoinRequest const& request, JoinOutput output, oneapi::tbb::task_arena& arena,
                              StatsSink& stats);

/// What the result's columns cost. Only lanes that make batches have a use for carried columns.
std::vector<OutputShape> output_shape(JoinRequest const& request, JoinOutput output);

/// Nanoseconds that another way of a join takes when it gives so many rows.
using RivalCost = std::function<double(double rows)>;

/// A join whose inputs are partitioned and whose path is open: gives its rows, its row pairs, or their number, once.
class PartitionedJoin {
 public:
  /// Encodes, plans, partitions, opens the path. Blocks until that is done. Nothing is returned where `rival` takes
  /// less than what was planned. Errors: those of plan_keys, radix_partition and the path's open function.
  static Result<std::unique_ptr<PartitionedJoin>> prepare(JoinRequest const& request, JoinOutput output,
                                                          RivalCost const& rival = {});

  PartitionedJoin(PartitionedJoin const&) = delete;
  PartitionedJoin& operator=(PartitionedJoin const&) = delete;
  /// Cancels what still runs.
  ~PartitionedJoin();

  /// What it was prepared for; pairs instead of batches on a path whose lanes make none.
  JoinOutput output() const noexcept { return output_; }

  /// Returns the number of rows; enumerates no pair. Blocks. Requires output() is count. Call once.
  Result<std::uint64_t> count();

  /// Returns the next pairs in the order of partitions, nullopt at the end. The lanes start with the first call.
  /// Requires output() is pairs.
  Result<std::optional<PairChunk>> next_pairs();

  /// The same of the result's batches. Requires output() is batches.
  Result<std::optional<Batch>> next_batch();

  Plan plan() const;
  RunStats stats(std::uint64_t rows_out) const;
  oneapi::tbb::task_arena& arena() noexcept { return arena_; }
  RunRecorder& recorder() noexcept { return recorder_; }
  std::uint64_t chunk_rows() const noexcept { return plan_.plan.chunk_rows; }

 private:
  /// Takes the pairs of one slice out of its kernel; adds to `*rows` before anything of them leaves the lane.
  using Consume =
      std::function<Result<void>(JoinKernel& kernel, std::uint64_t count, SliceTask const& slice, std::uint64_t* rows)>;

  class BatchTask;

  PartitionedJoin(JoinRequest const& request, JoinOutput output);

  Result<void> partition_keys(PlannedJoin planned);
  Result<partition::PartitionedKeys> partition_side(partition::EncodedKeys keys, partition::DigitCounts counts,
                                                    PartitionedTable& side, Side which);
  void cut_tasks(double expected_matches);
  Result<void> open_path();
  template <class Scheduler, class Work>
  std::unique_ptr<Scheduler> start_lanes(Work work);
  Result<void> join_task(std::uint32_t lane, std::size_t task, Consume const& consume);
  Result<void> join_slice(std::uint32_t lane, SliceTask const& slice, Consume const& consume);
  Result<void> run_kernel(std::uint32_t lane, SliceTask const& slice, Consume const& consume, std::uint64_t* rows);
  Result<void> emit_pairs(JoinKernel& kernel, std::uint64_t count, SliceTask const& slice, std::uint64_t* rows,
                          LaneScheduler::Emit const& emit) const;
  Result<void> build_batches(std::uint32_t lane, std::size_t task, BatchScheduler::Emit const& emit);
  std::uint64_t task_rows_from(std::size_t task, SliceTask const& slice) const;
  void report_progress();

  std::atomic<bool> abandoned_{false};  // set when the join is destroyed before its end
  TableView left_table_;
  TableView right_table_;
  ResolvedJoin columns_;
  JoinOptions options_;
  JoinOutput output_;
  DeviceSet* devices_;
  std::chrono::steady_clock::time_point start_;
  oneapi::tbb::task_arena arena_;
  RunRecorder recorder_;
  JoinPlan plan_;
  partition::RadixDigit digit_;
  partition::PartitionedKeys left_;
  partition::PartitionedKeys right_;
  std::vector<SliceTask> slices_;
  std::vector<std::size_t> tasks_;  // task t: slices [tasks_[t], tasks_[t + 1])
  std::unique_ptr<BatchSources> sources_;
  std::vector<std::unique_ptr<oneapi::tbb::task_arena>> lane_arenas_;
  std::unique_ptr<JoinBackend> backend_;
  std::mutex progress_mutex_;
  std::size_t slices_done_ = 0;
  std::atomic<std::uint64_t> rows_counted_{0};
  std::unique_ptr<LaneScheduler> pair_lanes_;  // last: their lanes use everything above
  std::unique_ptr<BatchScheduler> batch_lanes_;
};

}  // namespace garuda::operators
