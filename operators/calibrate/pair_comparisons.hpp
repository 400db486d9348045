// Rows of two columns compared with each other by the passes that joins without keys run.
#pragma once

#include <cstdint>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::calibrate {

/// Compares each of `rows` words of 32 bits with each of as many others once, and returns the nanoseconds of the passes
/// alone, as PointDraw::run. Blocks. Errors: no_device where the compute path cannot run; out_of_memory,
/// device_failure, cancelled.
Result<std::uint64_t> compare_pairs(vk::Device& device, vk::PipelineStore& pipelines, Control const& control,
                                    std::uint64_t rows);

}  // namespace garuda::calibrate
