// The stored columns of a join's result, and the rows in them that come alone.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "operators/compute/join/alone_rows.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/moved_sides.hpp"

namespace garuda::device {

/// Takes device memory from the result's arena. Errors: out_of_memory.
Result<DeviceTableState::Stored> take_column(DeviceTableState& result, std::uint64_t rows, std::uint32_t words);

/// The rows of one side that come alone.
struct AlonePart {
  Side side = Side::left;
  compute::MarkedRows marked;
  compute::AloneRows alone;
  std::uint64_t rows = 0;
  VkDeviceAddress places = 0;  ///< u32 a row: among pairs; 0: behind what comes before
};

std::uint64_t rows_of(std::span<AlonePart const> parts);

/// Takes what is added behind key and payload, of result.rows rows, writes the rows of `parts` behind `first`, or at
/// their places, then the keys of other widths; waits. Errors: out_of_memory, device_failure, cancelled.
Result<void> write_rest(compute::ComputeContext& context, MovedSides const& sides, std::span<AlonePart> parts,
                        std::uint64_t first, DeviceTableState& result);

}  // namespace garuda::device
