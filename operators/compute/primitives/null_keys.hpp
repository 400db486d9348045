// Keys of a side in which null is a value that no other key has: of joins where nulls are equal, or whose rows come
// alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/compute/primitives/radix_side.hpp"

namespace garuda::compute {

/// Whether no key of `rows`, of one or two words, is `value`, whose low words count, but those that are null; waits.
/// `target`: where the keys are copied with that value in place of nulls, or 0. Errors: out_of_memory, device_failure,
/// cancelled.
Result<bool> replace_null_keys(ComputeContext& context, DeviceRows const& rows, std::optional<NullFlags> const& nulls,
                               std::uint64_t value, VkDeviceAddress target);

/// Every pipeline of the pass with this tuning.
std::vector<vk::ComputePipelineSpec> null_keys_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
