// The join as Vulkan compute passes, on one device.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::compute {

/// Starts on a slice, by options.tuning.method (automatic: partitioned): its keys go up and are joined as resident
/// tables are, with row numbers as the result; waits for none of it. Pairs are found once and stay on the device, rows
/// that have a match are looked up in an index of the other side. The arguments outlive the kernel, as do the slice's
/// keys. Errors: those of JoinKernel; limit_exceeded of `pairs`, too, for many more pairs than rows, of which a smaller
/// slice has fewer.
Result<std::unique_ptr<contract::JoinKernel>> start_slice(vulkan::OwnLane const& own, vk::PipelineStore& pipelines,
                                                          ComputeTuning const& tuning,
                                                          contract::BackendOptions const& options,
                                                          contract::JoinSlice const& slice);

/// Opens the compute path for one join: a lane of the device for each of `options.lanes`, with its own memory, command
/// buffers, timeline and (where the family has several) queue. `device`, `pipelines` and what `options` refers to
/// outlive the backend; pipelines are compiled into `pipelines` at first use. Thread-safe. Errors: no_device, with the
/// reason, for a device that cannot run it; out_of_memory; device_failure.
Result<std::unique_ptr<contract::JoinBackend>> open_compute_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                 contract::BackendOptions const& options);

/// Bits by which the host scatters a slice for a method (automatic: partitioned), where lanes read its memory in
/// place; 0: the device does.
std::uint32_t scattered_bits(std::uint64_t build_rows, JoinMethod method, bool reads_in_place,
                             ComputeTuning const& tuning) noexcept;

/// Device bytes that a slice of so many rows takes with a method (automatic: partitioned): keys, their partitioned or
/// sorted copies with row numbers, counts and sums of digits, and where `pairs_wanted` a pair for each row of the
/// larger side. `key_bits`: 32 or 64.
std::uint64_t compute_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                                 JoinMethod method, ComputeTuning const& tuning, bool pairs_wanted) noexcept;

}  // namespace garuda::compute
