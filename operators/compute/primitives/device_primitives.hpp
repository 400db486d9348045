// Small passes over device arrays: reductions, sums of segments, gathers, compaction, copies.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_scan.hpp"

namespace garuda::compute {

enum class Reduction : std::uint8_t { add, min, max };

/// Records the reduction of `elements` elements of `words` u32 words. Sums take one word an element; the result is a
/// u64 either way (extremes of one word: in its first word), written to `result`, at least 8 bytes. Cost: one pass, two
/// for extremes of two words.
Result<void> record_reduce(ComputeContext& context, char const* phase, Reduction reduction, VkDeviceAddress source,
                           std::uint64_t elements, std::uint32_t words, vk::Buffer const& result);

/// Records results[s] = the u64 sum of values[starts[s]] … values[starts[s + 1] - 1], u32 each. starts: segments + 1
/// values, from 0 to `elements`, not decreasing. `results`: segments × 8 bytes.
Result<void> record_segment_sums(ComputeContext& context, char const* phase, VkDeviceAddress values,
                                 VkDeviceAddress starts, std::uint64_t elements, std::uint32_t segments,
                                 vk::Buffer const& results);

/// Records target[i] = source[rows[i]] for elements of `words` words, at least one.
Result<void> record_gather(ComputeContext& context, char const* phase, VkDeviceAddress source, VkDeviceAddress rows,
                           VkDeviceAddress target, std::uint64_t elements, std::uint32_t words);

/// Records the list of elements whose flag is 1, in order, to `target`; flags are 0 or 1. scan.total() has their
/// number.
Result<void> record_compact(ComputeContext& context, char const* phase, DeviceScan& scan, VkDeviceAddress flags,
                            VkDeviceAddress target, std::uint64_t elements);

/// Records a copy of `bytes` bytes, a multiple of 16, by a compute pass: what other passes' rates are held against.
Result<void> record_copy(ComputeContext& context, char const* phase, VkDeviceAddress source, VkDeviceAddress target,
                         std::uint64_t bytes);

/// How many invocations count, each `items` values.
struct CountBinsShape {
  std::uint32_t group_size = 256;
  std::uint32_t items = 4;
};
/// Records counts[values[i] & (bins - 1)] += 1 for u32 values; bins a power of two, counts 0 before.
Result<void> record_count_bins(ComputeContext& context, char const* phase, VkDeviceAddress values,
                               std::uint64_t elements, VkDeviceAddress counts, std::uint64_t bins,
                               CountBinsShape const& shape = {});

/// Every pipeline of these passes with this tuning.
std::vector<vk::ComputePipelineSpec> primitive_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
