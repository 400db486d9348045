// The bare draws of a join through the graphics path: the same number of points into the same pixels in the same order,
// with the same formats and blending, and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/parts/bare_draws.hpp"
#include "bench/workloads/workload.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

/// What a run of the join drew, from its statistics.
struct DrawnPoints {
  std::uint64_t statistics = 0;
  std::uint64_t build = 0;
  std::uint64_t count = 0;
  std::uint64_t probe = 0;
};

/// Where a join with direct addresses drew.
struct DirectLayout {
  std::uint32_t radix_bits = 0;   ///< partitions by the lowest bits of the key, each drawn by itself
  std::uint32_t result_edge = 0;  ///< greatest width and height of the result FBO
  std::uint32_t key_bits = 32;    ///< of the pixels of the hash images
  bool runs = false;              ///< count points overwrite (first, count); else they add to the CountFBO
};

/// The passes of a join of unsliced partitions with direct addresses: statistics and build points at pixel = (key -
/// smallest of the side) >> radix_bits, statistics in row order and build in descending row order, as the join draws
/// them; count points in pixel order, one a probe row of the partition; probe points in pixel order, one an output row,
/// in result FBOs that start over when they are full. Statistics of both sides come as left, then right. Pure.
/// Errors: usage when `drawn` is no whole number of passes over a side, or keys are too sparse for direct addresses.
Result<std::vector<FloorPass>> floor_passes(Table const& left_table, Table const& right_table,
                                            DirectLayout const& layout, DrawnPoints const& drawn);

/// The bare draws beside an operator on the graphics path, on the device of its plan: of a join its floor_passes, of a
/// group-by one additive point a row at its group's pixel. `stats`: of a finished run of the workload with `plan`.
/// Errors: usage when slices were hashed, or partitions sliced or dealt out by a mixed digit, so that a join's pixels
/// are not those of floor_passes; those of BareDraws::create.
Result<std::unique_ptr<BareDraws>> raster_floor(Workload const& workload, Plan const& plan, RunStats const& stats);

}  // namespace garuda::bench
