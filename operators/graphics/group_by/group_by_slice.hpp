// One slice of a group-by on a device: its rows grouped, then aggregated column by column (GARUDA §4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {

/// What a slice borrows from its backend. All outlive it.
struct GroupByResources {
  vk::Lane* lane = nullptr;
  vk::PipelineStore* pipelines = nullptr;
  GroupByLimits const* limits = nullptr;
  contract::GroupByBackendOptions const* options = nullptr;
  std::uint64_t memory_budget_bytes = 0;  ///< of the lane
  /// Begins to group a slice with keys: takes memory and starts the uploads. The slice's keys outlive what it returns.
  std::function<Result<std::unique_ptr<SliceGrouping>>(GroupContext&, contract::GroupSlice const&)> start_grouping;
};

class GroupBySlice final : public contract::GroupByKernel {
 public:
  /// Takes memory and starts the uploads; waits for none of it. The keys outlive the kernel. Errors: those of
  /// `start_grouping` and GroupByKernel; limit_exceeded, too, when values of the width announced would not fit.
  static Result<std::unique_ptr<contract::GroupByKernel>> start(GroupByResources const& resources,
                                                                contract::GroupSlice const& slice);
  ~GroupBySlice() override;

  Result<std::uint64_t> group() override;
  Result<void> heads(std::span<std::uint32_t> out) override;
  Result<void> group_ids(std::span<std::uint32_t> out) override;
  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override;

 private:
  GroupBySlice(GroupByResources const& resources, contract::GroupSlice const& slice);

  Result<void> check_values(contract::GroupByBackendOptions const& options) const;
  Result<void> start_grouping(GroupByResources const& resources);
  Result<void> download(vk::Buffer const& source, std::span<std::uint32_t> out);
  Result<void> count_rows();
  Result<SliceColumn> upload(contract::AggregateInput const& input);
  Result<contract::AggregateState> run(contract::AggregateInput const& input);
  Result<void> fill_counts(contract::AggregateInput const& input, SliceColumn const& column,
                           contract::AggregateState& state);

  contract::GroupSlice slice_;
  contract::GroupByBackendOptions const& options_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  GroupContext context_;
  DeviceGroups groups_;
  vk::ArenaMark before_grouping_;
  std::unique_ptr<SliceGrouping> grouping_;
};

}  // namespace garuda::graphics
