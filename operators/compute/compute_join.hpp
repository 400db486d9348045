// The join as Vulkan compute passes, on one device.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "operators/join_kernel.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::operators {

/// Opens the compute path for one join: a lane of the device for each of `options.lanes`, with its own memory, command
/// buffers, timeline and (where the family has several) queue. `device`, `pipelines` and what `options` refers to
/// outlive the backend; pipelines are compiled into `pipelines` at first use. Thread-safe. Errors: no_device, with the
/// reason, for a device that cannot run it; out_of_memory; device_failure.
Result<std::unique_ptr<JoinBackend>> open_compute_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                       BackendOptions const& options);

}  // namespace garuda::operators
