// Measures what a Vulkan device can do a second.
#pragma once

#include "garuda/error.hpp"
#include "operators/calibrate/measuring.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::calibrate {

/// Measures every rate. Work grows until a run takes long enough to be trusted, so a slow device does little of it;
/// where half of `time` is over all the same, what is left is measured in one run a rate. Blocks; opens a lane of its
/// own. Progress is reported by rate. Errors: cancelled, limit_exceeded, out_of_memory, device_failure.
Result<rates::DeviceRates> measure_device(vk::Device& device, vk::PipelineStore& pipelines, MeasuringTime& time);

}  // namespace garuda::calibrate
