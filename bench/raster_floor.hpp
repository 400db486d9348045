// The bare draws of a join through the graphics path: the same number of points into the same pixels in the same order,
// with the same formats and blending, and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/generators.hpp"
#include "bench/vulkan_device.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/calibrate/point_draws.hpp"

namespace garuda::bench {

/// One pass of the join, bare.
struct FloorPass {
  std::string name;  ///< the phase of the join that draws it
  calibrate::PointImage image;
  std::vector<std::uint32_t> pixels;
};

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
Result<std::vector<FloorPass>> floor_passes(JoinTables const& tables, DirectLayout const& layout,
                                            DrawnPoints const& drawn);

/// Draws the passes of one join. Opens the device of the plan for itself; used by one thread.
class RasterFloor {
 public:
  /// `stats`: of a finished run of the join on `tables` with `plan`.
  /// Errors: usage when slices were hashed, or partitions sliced or dealt out by a mixed digit, so that its pixels are
  /// not those of floor_passes; those of PointDraw::create.
  static Result<std::unique_ptr<RasterFloor>> create(Plan const& plan, RunStats const& stats, JoinTables const& tables);

  /// Draws every pass once; the nanoseconds of the draws alone. Blocks.
  Result<std::uint64_t> run();

  /// Bytes that the points read and write.
  std::uint64_t bytes() const noexcept;
  /// Median time of each pass over the runs so far, with its points.
  std::vector<PhaseStats> median_phases() const;

 private:
  struct TimedPass {
    std::string name;
    calibrate::PointDraw draw;
    std::vector<std::uint64_t> samples_ns;
  };

  RasterFloor() = default;

  OpenedDevice opened_;
  std::unique_ptr<vk::PipelineStore> pipelines_;
  std::unique_ptr<vk::Lane> lane_;
  std::vector<TimedPass> passes_;  // after what they borrow
};

}  // namespace garuda::bench
