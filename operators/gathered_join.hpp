// Row pairs → batches of result columns.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/gather.hpp"
#include "operators/hash_join.hpp"

namespace garuda::operators {

/// Bytes of one result row, estimated from types and, for strings and binary, from the mean length in the tables.
std::uint64_t output_row_bytes(TableView left, TableView right, ResolvedJoin const& columns);

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

/// A join whose batches come in the order of partitions; nothing where `rival` takes less.
/// Errors: those of PartitionedJoin::prepare.
Result<std::unique_ptr<JoinResult>> gathered_join(JoinRequest const& request, RivalCost const& rival = {});

}  // namespace garuda::operators
