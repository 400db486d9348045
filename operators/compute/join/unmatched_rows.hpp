// Unmatched rows of one side of a join on a device, or its matched ones, as the kind of join gives them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/contract/join_kind.hpp"
#include "shaders/compute/join/marked_rows_layout.h"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// A side of a join in the order in which its rows are marked. Views memory.
struct MarkedRows {
  std::uint64_t rows = 0;
  DeviceColumn keys;
  std::vector<DeviceColumn> payload;
  VkDeviceAddress numbers = 0;  ///< of the rows, where the payload stayed behind; 0: it is in this order
  VkDeviceAddress marks = 0;    ///< a bit a row: it has a match
};

/// Enumerates the rows of a marked side that the result has, in the order of the side, and writes their columns where
/// the result has room for them.
class UnmatchedRows {
 public:
  /// Takes of `rows` those that `chosen` names, which is not none. The memory that is viewed stays in place. Errors:
  /// limit_exceeded, out_of_memory.
  static Result<UnmatchedRows> create(ComputeContext& context, MarkedRows rows, contract::SideRows chosen);

  MarkedRows const& marked() const noexcept { return marked_; }

  /// Records the counting of the rows.
  Result<void> record_count(ComputeContext& context);
  /// Waits for the number of rows. Errors: device_failure, cancelled.
  Result<std::uint64_t> count(ComputeContext& context);
  /// Records the writing of the columns, from `first_row` of their targets on; with `places`, u32 a row that comes,
  /// the i-th so many rows behind it. After record_count(), as often as wanted.
  Result<void> record_rows(ComputeContext& context, std::span<shaders::UnmatchedColumn const> columns,
                           std::uint64_t first_row, VkDeviceAddress places = 0);

 private:
  std::uint64_t num_rows() const noexcept { return marked_.rows; }

  MarkedRows marked_;
  shaders::UnmatchedRowsPush push_{};
  vk::Buffer counts_;  ///< rows of each block that come
  vk::Buffer firsts_;
  std::vector<vk::Buffer> columns_;  ///< of each time they are written
  DeviceScan scan_;
};

/// An ascending list of u32 on the device.
struct RowList {
  VkDeviceAddress rows = 0;
  std::uint64_t count = 0;
};

/// Records where the elements of a list come among those of another one, which has none of them, to `places`, u32 an
/// element.
Result<void> record_merged_places(ComputeContext& context, RowList const& list, RowList const& other,
                                  vk::Buffer const& places);

/// Every pipeline of these passes with this tuning beside those of sums.
std::vector<vk::ComputePipelineSpec> unmatched_rows_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
