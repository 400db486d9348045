// Rows and values of each group.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {

/// Records the counts of the column's values in each group into `counts`: groups × u32, for vertices and compute that
/// follow. By blending, or by compute where `limits.blend` is false.
Result<void> count_values(GroupContext& context, DeviceGroups const& groups, SliceColumn const& column,
                          vk::Buffer const& counts);

/// Waits and returns `counts` of the device.
Result<std::vector<std::uint64_t>> download_counts(GroupContext& context, DeviceGroups const& groups,
                                                   vk::Buffer const& counts);

}  // namespace garuda::graphics
