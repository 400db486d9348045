// The floors of a run: how fast bytes can merely be copied, and the time of a device that draws the run's points and
// does nothing else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/record.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/calibrate/device_rates.hpp"

namespace garuda::bench {

/// Bytes a second between host and device, one way at a time.
struct StreamRates {
  double up_bytes_per_s = 0;
  double down_bytes_per_s = 0;
  bool pinned = false;  ///< measured with memory that the device reads in place; else through staging
};

/// Copies 512 MiB up and down as joins do that place their tables on the device; the fastest. Opens the device by name.
/// Blocks. Errors: no_device, out_of_memory, device_failure.
Result<StreamRates> measure_stream_rates(std::string_view device);

/// Copies 64 MiB to the plan's device and back, the way uploads and downloads go, both ways together; on the CPU path
/// 256 MiB of host memory on all threads. The fastest, as calibrations measure. Blocks. Errors: no_device,
/// out_of_memory, device_failure.
Result<CopyBandwidth> measure_bandwidth(Plan const& plan);

/// Points of one phase of the graphics path, where they go and in which order.
struct DrawnPoints {
  std::string_view phase;
  calibrate::PointTarget target;
  calibrate::PixelOrder order;
  std::uint64_t points = 0;
};

/// Bytes that `points` points read and write.
std::uint64_t point_bytes(calibrate::PointTarget target, std::uint64_t points) noexcept;

/// The points that a finished join drew, by its statistics: statistics and build at the pixels of their keys, which lie
/// in no order, count and probe in the order of pixels.
std::vector<DrawnPoints> points_of_join(Plan const& plan, RunStats const& stats);

/// Measures what bare points of each target and order take on the device, as calibrations do, and gives each phase the
/// nanoseconds and bytes of its points. Opens the device by name. Blocks. Errors: those of open_lane and
/// calibrate::measure_points.
Result<std::vector<PhaseStats>> raster_floor(std::string_view device, std::vector<DrawnPoints> const& drawn);

}  // namespace garuda::bench
