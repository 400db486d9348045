// The stored columns of a join's result, and the unmatched rows in them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/moved_sides.hpp"

namespace garuda::device {

/// The rows of one side that the result has without a row of the other side.
struct UnmatchedPart {
  Side side = Side::left;
  compute::UnmatchedRows unmatched;
  std::uint64_t rows = 0;
  VkDeviceAddress places = 0;  ///< u32 a row: among pairs; 0: behind what comes before
};

/// Finds the rows of marked sides that `parts` names, and waits for their number. Errors: limit_exceeded,
/// out_of_memory, device_failure, cancelled.
Result<std::vector<UnmatchedPart>> find_unmatched(compute::ComputeContext& context, contract::JoinParts const& parts,
                                                  std::vector<std::pair<Side, compute::MarkedRows>> sides);

std::uint64_t rows_of(std::span<UnmatchedPart const> parts);

/// Takes what is added behind key and payload, of result.rows rows, writes the rows of `parts` behind `first`, or at
/// their places, then the keys of other widths; waits. Errors: out_of_memory, device_failure, cancelled.
Result<void> write_rest(compute::ComputeContext& context, MovedSides const& sides, std::span<UnmatchedPart> parts,
                        std::uint64_t first, DeviceTableState& result);

}  // namespace garuda::device
