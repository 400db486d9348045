// The rows of a join in slices, batch by batch: row ids → batches of result columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/join/hash_join.hpp"
#include "operators/join/unmatched_rows.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/lane_scheduler.hpp"

namespace garuda::join {

/// Gathers the result columns of both sides for chunks of row pairs, and of one side for unmatched rows.
class PairGatherer {
 public:
  static Result<PairGatherer> create(TableView left, TableView right, resolve::ResolvedJoin const& columns);

  Schema const& schema() const noexcept { return schema_; }

  /// Gathers as many of the pairs from `first` on as 32-bit string offsets allow, at least one; the batch's num_rows
  /// says how many. A right row -1: there is none. Requires first < pairs.size().
  Result<Batch> gather(run::PairChunk const& pairs, std::size_t first) const;

  /// Gathers the next unmatched rows of `side`, at most `most`, and goes on behind them. Requires: there are such rows.
  Result<Batch> gather(Side side, UnmatchedRows& rows, std::uint64_t most, Control const& control) const;

 private:
  struct Gathered;

  PairGatherer(Gatherer left, Gatherer right, resolve::ResolvedJoin columns);

  Result<Batch> batch_of(Gathered gathered) const;
  Gatherer const& gatherer(Side side) const noexcept { return side == Side::left ? left_ : right_; }

  Gatherer left_;
  Gatherer right_;
  std::optional<Gatherer> right_keys_;  // of shared keys in rows without a left row
  resolve::ResolvedJoin columns_;
  Schema schema_;
};

/// A join whose batches come in the order of partitions: its lanes make them, or pairs, of which the reader gathers
/// them. Errors: those of PartitionedJoin::prepare.
Result<std::unique_ptr<JoinResult>> gathered_join(resolve::JoinRequest const& request, PlannedJoin planned,
                                                  std::unique_ptr<run::QueryRun> run);

/// Joins ranges of left rows one after the other, each as large as its sorted pairs fit the memory limit, so that
/// results of any size stream in order. A single left row is joined whatever its matches take: 16 bytes a match.
/// Errors: those of PartitionedJoin.
Result<std::unique_ptr<JoinResult>> ordered_join(resolve::JoinRequest request);

}  // namespace garuda::join
