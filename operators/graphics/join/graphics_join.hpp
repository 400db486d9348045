// The join through the graphics pipeline (GARUDA, VLDB 2023), on one Vulkan device.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/graphics_choice.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::graphics {

/// Opens the graphics path for one join: a lane of the device for each of `options.lanes`, with its own memory, command
/// buffers, timeline and (where the family has several) queue. `device`, `pipelines` and what `options` refers to
/// outlive the backend; pipelines are compiled into `pipelines` at first use. Thread-safe. Errors: usage for
/// contradictory tunings; no_device, with the reason, for a device that cannot run it; out_of_memory; device_failure.
Result<std::unique_ptr<contract::JoinBackend>> open_graphics_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                  contract::BackendOptions const& options,
                                                                  ImageSizes const& sizes = {});

}  // namespace garuda::graphics
