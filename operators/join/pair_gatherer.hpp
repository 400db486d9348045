// Row pairs → batches of result columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/resolve/join_columns.hpp"
#include "operators/run/lane_scheduler.hpp"

namespace garuda::join {

/// Gathers the result columns of both sides for chunks of row pairs.
class PairGatherer {
 public:
  static Result<PairGatherer> create(TableView left, TableView right, resolve::ResolvedJoin const& columns);

  Schema const& schema() const noexcept { return schema_; }

  /// Gathers as many of the pairs from `first` on as 32-bit string offsets allow, at least one; the batch's num_rows
  /// says how many. Requires first < pairs.size().
  Result<Batch> gather(run::PairChunk const& pairs, std::size_t first) const;

 private:
  PairGatherer(Gatherer left, Gatherer right, resolve::ResolvedJoin columns);

  Gatherer left_;
  Gatherer right_;
  resolve::ResolvedJoin columns_;
  Schema schema_;
};

}  // namespace garuda::join
