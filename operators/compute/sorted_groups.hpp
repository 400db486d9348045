// Groups of rows that are sorted by their keys first: a segmented reduction, the groups in the order of their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/device_scan.hpp"
#include "operators/compute/sorted_side.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::operators {

/// Where the passes of a group-by find what does not depend on how rows are brought together; see GroupRowsPush.
struct GroupTargets {
  VkDeviceAddress values = 0;
  VkDeviceAddress targets = 0;
  VkDeviceAddress state = 0;
  std::uint64_t capacity = 0;  ///< groups
};

/// Rows sorted with their payload, then reduced in windows: the groups that begin in each window are counted, the
/// counts summed, and each window writes its groups where they belong. What a group has in later windows than its first
/// is added in a table with an entry a window. Source: Wu et al. 2025, §5 (sort-based grouping).
class SortedGroups {
 public:
  /// `bits`: lowest bits of the keys in which they differ. `constants`: of the aggregates, whose states have
  /// `state_words` words. The columns stay in place until record_sort() has run. Errors: limit_exceeded, out_of_memory.
  static Result<SortedGroups> create(ComputeContext& context, DeviceRows rows, std::uint32_t bits,
                                     std::vector<vk::SpecConstant> constants, std::uint32_t state_words);

  Result<void> record_sort(ComputeContext& context) { return rows_.record(context); }
  /// Records the reduction of the sorted rows, as often as wanted.
  Result<void> record_groups(ComputeContext& context, char const* phase, GroupTargets const& targets);

  SortedSide const& rows() const noexcept { return rows_; }

  /// The passes with these constants.
  static std::vector<vk::ComputePipelineSpec> pipelines(std::vector<vk::SpecConstant> const& constants,
                                                        std::uint32_t state_words, ComputeTuning const& tuning);

 private:
  explicit SortedGroups(SortedSide rows) : rows_(std::move(rows)) {}

  SortedSide rows_;
  std::vector<vk::SpecConstant> constants_;
  std::uint32_t state_words_ = 0;
  std::uint64_t num_windows_ = 0;
  vk::Buffer heads_;
  vk::Buffer bases_;
  vk::Buffer table_;
  DeviceScan scan_;
};

}  // namespace garuda::operators
