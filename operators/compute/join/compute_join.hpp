// The join as Vulkan compute passes, on one device.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/contract/join_kernel.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::compute {

/// Opens the compute path for one join: a lane of the device for each of `options.lanes`, with its own memory, command
/// buffers, timeline and (where the family has several) queue. `device`, `pipelines` and what `options` refers to
/// outlive the backend; pipelines are compiled into `pipelines` at first use. Thread-safe. Errors: no_device, with the
/// reason, for a device that cannot run it; out_of_memory; device_failure.
Result<std::unique_ptr<contract::JoinBackend>> open_compute_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                 contract::BackendOptions const& options);

/// Device bytes that a slice of so many rows takes with a method (automatic: partitioned): keys, their partitioned or
/// sorted copies with row numbers, counts and sums of digits, and the window of pairs where `pairs_wanted`. `key_bits`:
/// 32 or 64.
std::uint64_t compute_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                                 JoinMethod method, ComputeTuning const& tuning, bool pairs_wanted) noexcept;

}  // namespace garuda::compute
