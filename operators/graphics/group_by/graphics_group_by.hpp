// The group-by through the graphics pipeline (GARUDA, VLDB 2023, §4), on one Vulkan device: images find the groups of
// a slice, blending aggregates its columns.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/join/graphics_choice.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::graphics {

/// Opens the graphics path for one group-by: a lane of the device for each of `options.lanes`, with its own memory,
/// command buffers, timeline and (where the family has several) queue. `device`, `pipelines` and what `options` refers
/// to outlive the backend; pipelines are compiled into `pipelines` at first use. Thread-safe. Errors: no_device, with
/// the reason, for a device that cannot run it; out_of_memory; device_failure. A kernel that does not fit the
/// lane's share of memory, or whose buffers are larger than shaders see, fails with limit_exceeded: a smaller slice may
/// fit.
Result<std::unique_ptr<contract::GroupByBackend>> open_graphics_group_by(vk::Device& device,
                                                                         vk::PipelineStore& pipelines,
                                                                         contract::GroupByBackendOptions const& options,
                                                                         ImageSizes const& sizes = {});

}  // namespace garuda::graphics
