// The rows of a join in slices, batch by batch.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/join/hash_join.hpp"

namespace garuda::join {

/// A join whose batches come in the order of partitions: its lanes make them, or pairs, of which the reader gathers
/// them. Errors: those of PartitionedJoin::prepare.
Result<std::unique_ptr<JoinResult>> gathered_join(resolve::JoinRequest const& request, PlannedJoin planned,
                                                  std::unique_ptr<run::QueryRun> run);

}  // namespace garuda::join
