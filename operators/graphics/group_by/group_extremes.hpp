// Minima and maxima of each group by MAX blending of 24-bit pieces.
#pragma once

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {

/// Fills `state`'s minima and maxima, as far as `wanted` asks for them: one draw for every 24 bits of the values, from
/// the top; rows whose pieces above have lost are clipped. Waits.
Result<void> find_extremes(GroupContext& context, vulkan::DeviceGroups const& groups, SliceColumn const& column,
                           contract::StateSet wanted, contract::AggregateState& state);

}  // namespace garuda::graphics
