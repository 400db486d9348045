// The graphics path's work on one slice of a group-by: images find its groups, blending aggregates its columns.
#pragma once

#include <memory>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/group_by/row_grouping.hpp"

namespace garuda::graphics {

/// Resources that a slice borrows from its backend, and which outlive it.
struct GroupByResources {
  vk::Lane* lane = nullptr;
  vk::PipelineStore* pipelines = nullptr;
  GroupByLimits const* limits = nullptr;
  compute::ComputeTuning const* compute = nullptr;  ///< of passes that aggregate where `limits.blend` is false
  contract::GroupByBackendOptions const* options = nullptr;
  std::uint64_t memory_budget_bytes = 0;  ///< of the lane
};

class GroupBySlice final : public vulkan::SliceWork {
 public:
  explicit GroupBySlice(GroupByResources const& resources);

  vulkan::PassContext& context() override { return context_; }
  Result<void> start_grouping(contract::GroupSlice const& slice) override;
  Result<void> group(vulkan::DeviceGroups& groups) override { return grouping_->run(context_, groups); }
  void end_grouping() override { grouping_.reset(); }
  Result<contract::AggregateState> aggregate(vulkan::DeviceGroups& groups,
                                             contract::AggregateInput const& input) override;

 private:
  Result<void> count_rows(vulkan::DeviceGroups& groups);
  Result<contract::AggregateState> blend(vulkan::DeviceGroups const& groups, contract::AggregateInput const& input,
                                         SliceColumn& column);
  Result<void> fill_counts(vulkan::DeviceGroups const& groups, SliceColumn const& column,
                           contract::AggregateState& state);

  contract::GroupByBackendOptions const& options_;
  vulkan::Submissions submissions_;
  GroupContext context_;
  compute::ComputeContext compute_;
  std::unique_ptr<RowGrouping> grouping_;
};

}  // namespace garuda::graphics
