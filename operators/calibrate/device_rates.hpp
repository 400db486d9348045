// Measures what a Vulkan device can do a second.
#pragma once

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::calibrate {

/// Measures every rate. Work grows until a run takes long enough to be trusted, so a slow device does little of it:
/// some seconds on any device. Blocks; opens a lane of its own. Progress is reported by rate.
/// Errors: cancelled, out_of_memory, device_failure.
Result<rates::DeviceRates> measure_device(vk::Device& device, vk::PipelineStore& pipelines, Control const& control);

}  // namespace garuda::calibrate
