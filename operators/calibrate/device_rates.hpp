// Measures what a Vulkan device can do a second.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "operators/calibrate/measuring.hpp"
#include "operators/calibrate/point_draws.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::calibrate {

/// Measures every rate. Work grows until a run takes long enough to be trusted, so a slow device does little of it;
/// where half of `time` is over all the same, what is left is measured in one run a rate. Blocks; opens a lane of its
/// own. Progress is reported by rate. Errors: cancelled, limit_exceeded, out_of_memory, device_failure.
Result<rates::DeviceRates> measure_device(vk::Device& device, vk::PipelineStore& pipelines, MeasuringTime& time);

/// The pixels that rows are drawn at: pixels at random, row i at pixel i, or pixels beyond the image, which the clipper
/// drops.
enum class PixelOrder : std::uint8_t { random, ordered, clipped };

/// Points a second of bare draws into an image of the size that calibrations draw into, as measure_rate() measures.
/// Blocks. Errors: those of PointDraw and MeasuringTime::check.
Result<double> measure_points(vk::Lane& lane, vk::PipelineStore& pipelines, PointTarget target, PixelOrder order,
                              MeasuringTime const& time, double share);

}  // namespace garuda::calibrate
