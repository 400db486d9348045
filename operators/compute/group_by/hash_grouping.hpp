// Groups the rows of a slice by compute passes, through one table in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/group_by/row_groups.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::compute {

/// Addresses for the keys of `slice`. Automatic: direct while that takes no more slots than hashing.
/// Errors: usage when direct addresses are asked for and the keys have several words or span more than 2^28 slots.
Result<TableAddress> choose_table_address(contract::GroupSlice const& slice, Address asked);

/// Uploads the keys of a slice and numbers its rows by them.
class HashGrouping final : public graphics::SliceGrouping {
 public:
  /// What it borrows: all outlive it.
  struct Resources {
    vk::PipelineStore* pipelines = nullptr;
    ComputeTuning const* tuning = nullptr;
    std::uint64_t memory_budget_bytes = 0;  ///< of the lane
  };

  /// Chooses addresses, takes memory and starts the uploads. `slice`'s keys are KeySpan or KeyWords and outlive this.
  /// Errors: those of choose_table_address; limit_exceeded.
  static Result<std::unique_ptr<graphics::SliceGrouping>> start(Resources const& resources,
                                                                graphics::GroupContext& context,
                                                                contract::GroupSlice const& slice);

  Result<void> run(graphics::GroupContext& context, graphics::DeviceGroups& groups) override;

 private:
  HashGrouping(Resources const& resources, graphics::GroupContext& context)
      : context_(context.lane(), *resources.pipelines, context.submissions(), *resources.tuning,
                 resources.memory_budget_bytes) {}

  Result<void> upload(contract::GroupSlice const& slice);

  ComputeContext context_;
  RowKeys row_keys_;
  vk::Buffer keys_;
  RowGroups groups_;
};

/// Every pipeline of this grouping with this tuning.
std::vector<vk::ComputePipelineSpec> hash_grouping_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
