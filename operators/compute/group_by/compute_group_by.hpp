// The group-by of slices from the host as Vulkan compute passes, on one device: rows are numbered by their keys, and
// states are added up by number, a column at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/offers/costs.hpp"
#include "operators/vulkan/group_slice.hpp"

namespace garuda::vk {
class Device;
class PipelineStore;
}  // namespace garuda::vk

namespace garuda::compute {

/// Adds up partial states of one column by the states of the resident group-by: groups are slots of a table, no keys
/// are looked for. Many rows of few groups are added up in shared memory first. Uploads the column and waits; takes its
/// memory back. Errors: limit_exceeded when one state of each group does not fit; those of GroupByKernel.
Result<contract::AggregateState> slice_states(ComputeContext& context, vulkan::DeviceGroups const& groups,
                                              contract::AggregateInput const& input);

/// Device memory that it takes at most, beside ids, when every row is a group of its own. Bytes.
std::uint64_t slice_states_bytes(std::uint64_t rows, std::uint32_t value_words) noexcept;

/// Passes for all states of each kind of values, with this tuning.
std::vector<vk::ComputePipelineSpec> slice_states_pipelines(ComputeTuning const& tuning);

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

/// Costs of a group-by in slices.
contract::PhaseCosts compute_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                            rates::DeviceRates const& rates, rates::HostRates const& host);

}  // namespace garuda::compute
