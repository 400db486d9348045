// Minima and maxima of each group by MAX blending of 24-bit pieces.
#pragma once

#include "garuda/error.hpp"
#include "operators/graphics/group_context.hpp"
#include "operators/group_by_kernel.hpp"

namespace garuda::operators {

/// Fills `state`'s minima and maxima, as far as `wanted` asks for them: one draw for every 24 bits of the values, from
/// the top; rows whose pieces above have lost are clipped. By blending, or by compute where `limits.blend` is false.
/// Waits.
Result<void> find_extremes(GroupContext& context, DeviceGroups const& groups, SliceColumn const& column,
                           StateSet wanted, AggregateState& state);

}  // namespace garuda::operators
