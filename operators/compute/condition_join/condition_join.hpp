// Joins without keys as Vulkan compute passes, on one device.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/join_kernel.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vk {
class Device;
}  // namespace garuda::vk

namespace garuda::compute {

/// Opens the compute path for one join without keys by nested loops: a lane of the device for each of `options.lanes`.
/// The probe side, whose rows lie in registers, is the larger one unless options.tuning.build says otherwise.
/// `device`, `pipelines`, `condition` and what `options` refers to outlive the backend. Thread-safe. Pairs of a kernel
/// come by probe row, then build row. Errors: no_device, with the reason, for a device that cannot run it; usage for a
/// condition that does not fit the passes; out_of_memory; device_failure.
Result<std::unique_ptr<contract::ConditionBackend>> open_compute_condition_join(vk::Device& device,
                                                                                vk::PipelineStore& pipelines,
                                                                                contract::BackendOptions const& options,
                                                                                expr::PairCondition const& condition);

/// Device bytes that a slice of so many rows takes: the words of the columns that `condition` compares, counts, and a
/// window of pairs.
std::uint64_t compute_condition_join_bytes(expr::PairCondition const& condition, std::uint64_t left_rows,
                                           std::uint64_t right_rows) noexcept;

/// Every pipeline of conditions of one comparison, and of a program, with this tuning.
std::vector<vk::ComputePipelineSpec> condition_join_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
