// Row pairs → batches of result columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/gather.hpp"
#include "operators/join_columns.hpp"
#include "operators/lane_scheduler.hpp"

namespace garuda::operators {

/// Gathers the result columns of both sides for chunks of row pairs.
class PairGatherer {
 public:
  static Result<PairGatherer> create(TableView left, TableView right, ResolvedJoin const& columns);

  Schema const& schema() const noexcept { return schema_; }

  /// Gathers as many of the pairs from `first` on as 32-bit string offsets allow, at least one; the batch's num_rows
  /// says how many. Requires first < pairs.size().
  Result<Batch> gather(PairChunk const& pairs, std::size_t first) const;

 private:
  PairGatherer(Gatherer left, Gatherer right, ResolvedJoin columns);

  Gatherer left_;
  Gatherer right_;
  ResolvedJoin columns_;
  Schema schema_;
};

}  // namespace garuda::operators
