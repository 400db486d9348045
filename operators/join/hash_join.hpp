// The partitioned hash join (GARUDA §3), and joins without keys, whose tables are one partition in place: the same for
// every path.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "expr/condition_columns.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "keys/join_keys.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/join/batch_builder.hpp"
#include "operators/join/condition_kernel.hpp"
#include "operators/join/join.hpp"
#include "operators/join/match_sink.hpp"
#include "operators/join/unmatched_rows.hpp"
#include "operators/resolve/built_side.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/join_slices.hpp"
#include "operators/run/lane_scheduler.hpp"
#include "operators/run/query_run.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// The tables that are placed, and their use; outlives the sides.
struct PlacedTables {
  TableView left;
  TableView right;
  resolve::ResolvedJoin const& columns;
  JoinOutput output;
  bool wants_ranges;                ///< the least and greatest key of each partition
  resolve::BuiltSide const* build;  ///< nullptr: both sides are partitioned now
  Control const& control;
  run::QueryRun& run;

  TableView const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  std::uint64_t rows(Side side) const noexcept { return static_cast<std::uint64_t>(of(side).num_rows()); }
};

/// Whether it matters which rows of a side have a match: where all of them come, only to those who get the answer.
bool is_marked(contract::JoinParts const& parts, JoinOutput output, Side side) noexcept;

/// Placed once, then read by all lanes; stays where it is.
class PlacedSides {
 public:
  PlacedSides() = default;
  PlacedSides(PlacedSides const&) = delete;
  PlacedSides& operator=(PlacedSides const&) = delete;

  /// Encodes the condition of a join with keys and partitions the keys, with what moves along. Blocks; uses the run's
  /// arena. Errors: those of encode_condition, radix_partition and BatchSources::create.
  Result<void> place(PlannedJoin planned, PlacedTables const& tables);

  partition::PartitionedKeys const& keys(Side side) const noexcept { return of(side).keys; }
  /// Keys of marked sides whose row ids do not move.
  KeysInPlace const& in_place(Side side) const noexcept { return of(side).in_place; }
  partition::RadixDigit digit() const noexcept { return digit_; }
  /// The condition of a join with keys, where there is one.
  expr::PairCondition const& condition() const noexcept { return condition_.condition; }
  TestedSide tested(Side side) const noexcept { return {of(side).keys, of(side).words_moved}; }
  /// Where lanes make rows.
  BatchSources const& sources() const noexcept { return *sources_; }

 private:
  struct Placed {
    partition::PartitionedKeys keys;
    KeysInPlace in_place;
    bool words_moved = false;  ///< words of the condition are in the order of the partitioned keys
  };

  Placed const& of(Side side) const noexcept { return side == Side::left ? left_ : right_; }
  Placed& of(Side side) noexcept { return side == Side::left ? left_ : right_; }
  std::vector<expr::OrderWords>& words(Side side) noexcept {
    return side == Side::left ? condition_.condition.left : condition_.condition.right;
  }
  Result<void> partition_side(keys::EncodedKeys keys, partition::DigitCounts counts, double expected_matches,
                              PlacedTables const& tables, PartitionedTable& side, Side which);

  partition::RadixDigit digit_;
  expr::EncodedCondition condition_;
  Placed left_;
  Placed right_;
  std::unique_ptr<BatchSources> sources_;
};

/// The slices of a partitioned join, and the tasks that lanes take them in.
struct SlicedJoin {
  std::vector<run::SliceTask> slices;
  std::vector<std::size_t> firsts;  ///< of each task, then the number of slices

  std::size_t num_tasks() const noexcept { return firsts.empty() ? 0 : firsts.size() - 1; }
  std::span<run::SliceTask const> task(std::size_t index) const {
    return std::span(slices).subspan(firsts[index], firsts[index + 1] - firsts[index]);
  }
};

/// A join whose inputs are partitioned and whose path is open: gives its rows, its row pairs, or their number, once.
class PartitionedJoin {
 public:
  /// Partitions and opens the path of `planned`, which takes slices. Blocks until that is done. Errors: those of
  /// encode_condition, radix_partition and the path's open function.
  static Result<std::unique_ptr<PartitionedJoin>> prepare(resolve::JoinRequest const& request, PlannedJoin planned,
                                                          std::unique_ptr<run::QueryRun> run);
  /// Plans and prepares a join, always in slices. Errors: those of plan_request, too.
  static Result<std::unique_ptr<PartitionedJoin>> prepare(resolve::JoinRequest const& request, JoinOutput output);

  PartitionedJoin(PartitionedJoin const&) = delete;
  PartitionedJoin& operator=(PartitionedJoin const&) = delete;
  /// Cancels what still runs.
  ~PartitionedJoin();

  /// The form of rows that match: pairs where lanes make no rows, marks where there are no pairs.
  JoinOutput output() const noexcept { return output_; }

  /// Returns the number of rows; enumerates no pair. Blocks. Requires output() is count. Call once.
  Result<std::uint64_t> count();

  /// Returns the next pairs in the order of partitions, nullopt at the end. The lanes start with the first call.
  /// Requires output() is pairs.
  Result<std::optional<run::PairChunk>> next_pairs();

  /// The next of the result's batches; nullopt after the last. Requires output() is rows.
  Result<std::optional<Batch>> next_batch();

  /// The rows of a side that the result has without a row of the other side. Blocks while there are no pairs that were
  /// read first. Requires: the kind of join has such rows, pairs and batches were read to their end, output() is not
  /// count. Call once a side.
  Result<UnmatchedRows> unmatched_rows(Side side);

  Plan plan() const { return run_->recorder.with_notes(chosen_.plan); }
  RunStats stats(std::uint64_t rows_out) const;
  oneapi::tbb::task_arena& arena() noexcept { return run_->arena; }
  run::RunRecorder& recorder() noexcept { return run_->recorder; }
  std::uint64_t chunk_rows() const noexcept { return chosen_.plan.chunk_rows; }

 private:
  PartitionedJoin(resolve::JoinRequest const& request, std::unique_ptr<run::QueryRun> run);

  Result<void> place_sides(PlannedJoin planned);
  TestedJoin tested_join();
  Result<void> open_path(double expected_matches);
  template <class Scheduler, class SinkOf>
  std::unique_ptr<Scheduler> start_lanes(SinkOf sink_of);
  Result<void> join_task(std::uint32_t lane, std::size_t task, MatchSink& sink);
  Result<void> join_slice(std::uint32_t lane, run::SliceTask const& slice, MatchSink& sink);
  Result<void> run_kernel(std::uint32_t lane, run::SliceTask const& slice, MatchSink& sink, std::uint64_t* rows);
  void report_progress();
  Result<std::unique_ptr<contract::JoinKernel>> begin(std::uint32_t lane, run::SliceTask const& slice);
  contract::JoinFeeding const& feeding() const { return plan::feeding_of(*path_, non_equi_ != nullptr); }
  SinkContext sink_context() const;
  partition::PartitionedKeys const& left() const noexcept { return sides_.keys(Side::left); }
  partition::PartitionedKeys const& right() const noexcept { return sides_.keys(Side::right); }
  bool wants_pairs() const noexcept { return output_ == JoinOutput::pairs || output_ == JoinOutput::rows; }
  std::uint64_t table_rows(Side side) const noexcept {
    return static_cast<std::uint64_t>((side == Side::left ? left_table_ : right_table_).num_rows());
  }

  std::unique_ptr<run::QueryRun> run_;
  TableView left_table_;
  TableView right_table_;
  resolve::ResolvedJoin columns_;
  JoinOptions options_;
  JoinOutput output_ = JoinOutput::rows;
  contract::DeviceSet* devices_;
  std::shared_ptr<resolve::BuiltSide const> build_;
  std::shared_ptr<expr::PairCondition const> non_equi_;  // of a join without keys
  plan::JoinPlan chosen_;
  contract::PathRow const* path_ = nullptr;
  PlacedSides sides_;
  SideMarks marks_;
  std::optional<TestedJoin> tested_;
  SlicedJoin sliced_;
  std::vector<std::unique_ptr<oneapi::tbb::task_arena>> lane_arenas_;
  std::unique_ptr<contract::JoinBackend> backend_;
  std::unique_ptr<contract::ConditionBackend> condition_backend_;  // in its place, without keys
  std::mutex progress_mutex_;
  std::size_t slices_done_ = 0;
  std::atomic<std::uint64_t> rows_counted_{0};
  std::unique_ptr<run::LaneScheduler> pair_lanes_;  // last: their lanes use everything above
  std::unique_ptr<run::BatchScheduler> batch_lanes_;
};

}  // namespace garuda::join
