// Groups the rows of a slice by compute passes: one table in device memory, entered by compare-and-swap.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/compute_context.hpp"
#include "operators/compute/device_scan.hpp"
#include "operators/graphics/group_context.hpp"
#include "operators/group_by_kernel.hpp"

namespace garuda::operators {

/// How rows of a slice find their slots.
struct TableAddress {
  bool direct = false;      ///< (key - min) >> shift, else by the key's hash
  std::uint64_t min = 0;    ///< direct
  std::uint32_t shift = 0;  ///< direct
  std::uint64_t slots = 0;  ///< hash: a power of two
};

/// Slots of the table for `rows` rows, each of which may be a group: between a quarter and a half stay free.
std::uint64_t hash_table_slots(std::uint64_t rows) noexcept;

/// Addresses for the keys of `slice`. Automatic: direct while that takes no more slots than hashing.
/// Errors: usage when direct addresses are asked for and the keys have several words or span more than 2^28 slots.
Result<TableAddress> choose_table_address(GroupSlice const& slice, Address asked);

/// A slot holds the first row of its key, so groups are numbered in the order of their first rows by one prefix sum
/// over those rows. Keys that meet in too long a run of slots are hashed anew.
class HashGrouping final : public SliceGrouping {
 public:
  /// What it borrows: all outlive it.
  struct Resources {
    vk::PipelineStore* pipelines = nullptr;
    ComputeTuning const* tuning = nullptr;
    std::uint64_t memory_budget_bytes = 0;  ///< of the lane
  };

  /// Chooses addresses, takes memory and starts the uploads. `slice`'s keys are KeySpan or KeyWords and outlive this.
  /// Errors: those of choose_table_address; limit_exceeded.
  static Result<std::unique_ptr<SliceGrouping>> start(Resources const& resources, GroupContext& context,
                                                      GroupSlice const& slice);

  Result<void> run(GroupContext& context, DeviceGroups& groups) override;

 private:
  HashGrouping(Resources const& resources, GroupContext& context)
      : context_(context.lane(), *resources.pipelines, context.submissions(), *resources.tuning,
                 resources.memory_budget_bytes) {}

  Result<void> upload(GroupSlice const& slice);
  Result<void> take_memory();
  Result<void> enter_rows();
  Result<void> number_groups(DeviceGroups& groups);

  ComputeContext context_;
  TableAddress address_;
  std::uint32_t num_rows_ = 0;
  std::uint32_t key_words_ = 0;  // of packed keys; 0: several words
  std::uint32_t num_words_ = 0;
  vk::Buffer keys_;
  vk::Buffer table_;
  vk::Buffer slots_;
  vk::Buffer heads_;
  vk::Buffer offsets_;
  vk::Buffer lost_;
  DeviceScan scan_;
};

/// Every pipeline of this grouping with this tuning.
std::vector<vk::ComputePipelineSpec> hash_grouping_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::operators
