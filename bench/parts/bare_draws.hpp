// Bare draws, one point a row and nothing around them: the least that passes of the graphics path can cost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/parts/vulkan_device.hpp"
#include "garuda/error.hpp"
#include "operators/calibrate/point_draws.hpp"

namespace garuda::bench {

/// One pass over points.
struct FloorPass {
  std::string name;  ///< its phase
  calibrate::PointImage image;
  std::vector<std::uint32_t> pixels;
};

/// Bytes that `points` points read and write.
std::uint64_t point_bytes(calibrate::PointImage const& image, std::uint64_t points) noexcept;

/// Draws passes one after the other, on a device opened for that. Used by one thread; does not move.
class BareDraws {
 public:
  /// Draws every pass once and compares the image with what the host expects. Blocks.
  /// Errors: those of open_lane and PointDraw::create; device_failure, also when a pixel differs.
  static Result<std::unique_ptr<BareDraws>> create(std::string_view device, std::span<FloorPass const> passes);

  /// Draws every pass once; its time is that of the draws alone, its phases are the passes by name. Blocks.
  Result<Sample> run();
  /// Bytes that the points of all passes read and write.
  std::uint64_t bytes() const noexcept;
  OpenedLane const& device() const noexcept { return opened_; }

 private:
  struct Pass {
    std::string name;
    calibrate::PointDraw draw;
  };

  BareDraws() = default;

  OpenedLane opened_;
  std::vector<Pass> passes_;  // after what they borrow
};

}  // namespace garuda::bench
