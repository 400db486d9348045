// One slice of a group-by on a Vulkan device: its rows grouped, then aggregated column by column (GARUDA §4).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "operators/contract/group_by_kernel.hpp"
#include "operators/vulkan/pass_context.hpp"

namespace garuda::vulkan {

/// The groups of a slice on the device.
struct DeviceGroups {
  std::uint32_t num_rows = 0;
  std::uint32_t num_groups = 0;
  std::uint32_t num_drawn = 0;  ///< rows that draws are of: all, or those of the list
  bool is_listed = false;       ///< draws are of the rows at `rows`, which pass a filter
  vk::Buffer rows;              ///< u32 each, ascending, with room for all; empty without expressions
  vk::Buffer ids;               ///< rows × u32
  vk::Buffer head_rows;         ///< groups × u32 (room for a group a row)
  vk::Buffer group_rows;        ///< groups × u32, rows of the group; empty until they are counted
};

/// A path's part of the work on a slice, on the lane of its context.
class SliceWork {
 public:
  virtual ~SliceWork() = default;

  virtual PassContext& context() = 0;
  /// Begins to group a slice with keys: takes memory and starts the uploads. The keys outlive the grouping.
  virtual Result<void> start_grouping(contract::GroupSlice const& slice) = 0;
  /// Finds the groups: fills `groups`' number, ids and head rows, which have room for every row. Waits.
  virtual Result<void> group(DeviceGroups& groups) = 0;
  /// Lists the rows that pass, where the backend's expressions have a filter. Waits.
  virtual Result<void> filter_rows(DeviceGroups& /*groups*/) { return {}; }
  /// Lets go what grouping took; the caller takes its memory back.
  virtual void end_grouping() = 0;
  /// Waits; the column's memory is taken back once the device is done with it.
  virtual Result<contract::AggregateState> aggregate(DeviceGroups& groups, contract::AggregateInput const& input) = 0;
};

/// A column on the device: values, unless they are counted only, and validity, where there are nulls.
struct UploadedColumn {
  vk::Buffer values;
  vk::Buffer validity;
};
/// See PassContext::input(). `by_address`: passes do not bind it.
Result<UploadedColumn> upload_column(PassContext& context, contract::AggregateInput const& input,
                                     bool by_address = false);

class GroupSliceKernel final : public contract::GroupByKernel {
 public:
  /// Takes memory and starts the uploads; waits for none of it. The keys and `options` outlive the kernel. Errors:
  /// those of `work` and GroupByKernel; limit_exceeded, too, when values of the width announced would not fit.
  static Result<std::unique_ptr<contract::GroupByKernel>> start(std::unique_ptr<SliceWork> work,
                                                                contract::GroupSlice const& slice,
                                                                contract::GroupByBackendOptions const& options);

  Result<std::uint64_t> group() override;
  Result<std::span<std::uint32_t const>> heads() override;
  Result<void> group_ids(std::span<std::uint32_t> out) override;
  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override;

 private:
  GroupSliceKernel(std::unique_ptr<SliceWork> work, contract::GroupByBackendOptions const& options)
      : work_(std::move(work)), context_(work_->context()), options_(options) {}

  Result<void> check_values() const;
  Result<void> start_grouping(contract::GroupSlice const& slice);
  Result<void> order_download();

  std::unique_ptr<SliceWork> work_;
  PassContext& context_;
  contract::GroupByBackendOptions const& options_;
  DeviceGroups groups_;
  std::vector<std::uint32_t> heads_;  // where they come to the host
  bool has_keys_ = false;
  vk::ArenaMark before_grouping_;
  DrainedLane const drained_{context_.lane()};
};

/// Most rows of a slice whose keys (`key_words` u32 a row) and values (`value_words` a row) fit the buffers that a
/// shader sees. At most kMaxPassRows.
std::uint64_t most_group_rows(vk::DeviceTraits const& traits, std::uint32_t key_words,
                              std::uint32_t value_words) noexcept;

}  // namespace garuda::vulkan
