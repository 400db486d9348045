// Sinks of a join's matches: one class for each result that a kind of join wants, fed with the kernels of
// slices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/row_marks.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/join/batch_builder.hpp"
#include "operators/run/join_slices.hpp"
#include "operators/run/lane_scheduler.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// Takes the matches of the slices of one task, one after the other, on the thread of its lane.
class MatchSink {
 public:
  virtual ~MatchSink() = default;

  /// Takes what it wants out of the kernel of a slice: its count, its pairs in windows, or its marks. Adds to `*rows`
  /// what leaves the lane before it does: while that is 0, the slice may be halved and taken anew.
  virtual Result<void> take(contract::JoinKernel& kernel, run::SliceTask const& slice, std::uint64_t* rows) = 0;

  /// Whether `take` gives all rows of `side` that the slice has, those without a match with nulls beside them, so that
  /// none of them is left for the unmatched rows. Called before it.
  virtual Result<bool> gives_all(Side, contract::JoinKernel&, run::SliceTask const&) { return false; }

  /// Called after the last slice of the task.
  virtual Result<void> finish() { return {}; }
};

/// The join that a sink is of; outlives it.
struct SinkContext {
  partition::PartitionedKeys const& left;
  partition::PartitionedKeys const& right;
  std::uint64_t chunk_rows;
  Control const& control;
  contract::StatsSink& stats;
};

/// The marks of the sides that are marked, by position in the partitioned keys.
struct SideMarks {
  std::optional<contract::RowMarks> left;
  std::optional<contract::RowMarks> right;

  bool any() const noexcept { return left || right; }
  std::optional<contract::RowMarks>& of(Side side) noexcept { return side == Side::left ? left : right; }
};

/// The number of pairs; enumerates none.
std::unique_ptr<MatchSink> count_sink();

/// The rows that have a match, or that `pairs` gives all of, added to `marks`, which all lanes share; enumerates no
/// pair. `pairs`: what then takes the pairs, or their number, where these are wanted too; else nullptr. Where no side
/// is marked, that is all.
std::unique_ptr<MatchSink> mark_sink(SideMarks& marks, std::unique_ptr<MatchSink> pairs);

/// The pairs, as row ids.
std::unique_ptr<MatchSink> pair_sink(SinkContext const& context, run::LaneScheduler::Emit const& emit);

/// The rows of the pairs, written as soon as these are found, while what they need is cached. `task`: its slices.
std::unique_ptr<MatchSink> batch_sink(SinkContext const& context, BatchSources const& sources,
                                      std::span<run::SliceTask const> task, run::BatchScheduler::Emit const& emit);

}  // namespace garuda::join
