// The rows of a join in slices, batch by batch.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/hash_join.hpp"

namespace garuda::operators {

/// A join whose batches come in the order of partitions: its lanes make them, or pairs, of which the reader gathers
/// them. Errors: those of PartitionedJoin::prepare.
Result<std::unique_ptr<JoinResult>> gathered_join(JoinRequest const& request, PlannedJoin planned,
                                                  std::unique_ptr<QueryRun> run);

}  // namespace garuda::operators
