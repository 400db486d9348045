// States of a slice: the resident group-by of rows whose groups are numbered, a column at a time, from the host and
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/vulkan/group_slice.hpp"

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

}  // namespace garuda::compute
