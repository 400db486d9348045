// A join of tables of a device whose pairs are tested by a condition there, before anything of them is written, or have
// unmatched left rows in their midst.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/device/join/moved_sides.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::device {

/// Joins row numbers, tests each pair if there is a condition, and fetches the columns of those that pass; the rest is
/// as of other joins. `result`: where its columns go; nullptr: rows are only counted. Returns their number; waits.
/// Requires: sides.by_pairs. Errors: those of the join; limit_exceeded for 2^32 - 1 pairs or more before the test.
Result<std::uint64_t> join_by_pairs(compute::ComputeContext& context, MovedSides const& sides,
                                    resolve::JoinRequest const& request, compute::ResidentJoinStrategy way,
                                    contract::StatsSink* stats, DeviceTableState* result);

}  // namespace garuda::device
