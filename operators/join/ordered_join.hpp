// A join whose rows come sorted by (left row, right row).
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/join/hash_join.hpp"

namespace garuda::join {

/// Joins ranges of left rows one after the other, each as large as its sorted pairs fit the memory limit, so that
/// results of any size stream in order. A single left row is joined whatever its matches take: 16 bytes a match.
/// Errors: those of PartitionedJoin.
Result<std::unique_ptr<JoinResult>> ordered_join(resolve::JoinRequest request);

}  // namespace garuda::join
