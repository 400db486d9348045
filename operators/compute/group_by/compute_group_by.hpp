// The group-by as Vulkan compute passes, on one device.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::compute {

/// Device memory that a slice takes at most when every row is a group of its own. Bytes.
std::uint64_t compute_group_by_slice_bytes(std::uint64_t rows, std::uint32_t key_words,
                                           std::uint32_t value_words) noexcept;

/// Opens the compute path for one group-by: a lane of the device for each of `options.lanes`, with its own memory,
/// command buffers, timeline and (where the family has several) queue. `device`, `pipelines` and what `options` refers
/// to outlive the backend; pipelines are compiled into `pipelines` at first use. Thread-safe. Errors: those of
/// compute_tuning; out_of_memory; device_failure. A kernel that does not fit the lane's share of memory, or whose
/// values are larger than shaders see, fails with limit_exceeded: a smaller slice may fit.
Result<std::unique_ptr<contract::GroupByBackend>> open_compute_group_by(vk::Device& device,
                                                                        vk::PipelineStore& pipelines,
                                                                        contract::GroupByBackendOptions const& options);

}  // namespace garuda::compute
