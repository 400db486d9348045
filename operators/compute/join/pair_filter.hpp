// A condition tested on the pairs of a resident join, before anything of them is written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Pairs of row numbers, and where marks go, zeroed: bits of the pairs that pass, and of their rows.
struct TestedPairs {
  std::uint64_t pairs = 0;
  VkDeviceAddress left_rows = 0;
  VkDeviceAddress right_rows = 0;
  VkDeviceAddress marks = 0;
  VkDeviceAddress left_marks = 0;  ///< 0: not wanted
  VkDeviceAddress right_marks = 0;
  bool many_words = false;  ///< the condition compares values of more than two words
};

/// Records the test. `program`: on the device, of `steps` steps as filter_pairs_layout.h has them.
Result<void> record_pair_filter(ComputeContext& context, TestedPairs const& tested, vk::Buffer const& program,
                                std::uint64_t steps);

/// Every pipeline of the pass with this tuning.
std::vector<vk::ComputePipelineSpec> pair_filter_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
