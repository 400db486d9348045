// The two tables of a join as its slices see them: keys partitioned, or rows where they are when there are no keys.
#pragma once

#include <memory>
#include <vector>

#include "expr/condition_columns.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/join/batch_builder.hpp"
#include "operators/join/condition_kernel.hpp"
#include "operators/join/planned_join.hpp"
#include "operators/join/unmatched_rows.hpp"
#include "operators/resolve/built_side.hpp"
#include "operators/resolve/join_columns.hpp"
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

}  // namespace garuda::join
