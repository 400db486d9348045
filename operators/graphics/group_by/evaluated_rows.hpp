// The rows of a slice as the filter and the expressions of its group-by leave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/rows/drawn_rows.hpp"
#include "operators/graphics/rows/row_programs.hpp"
#include "operators/vulkan/group_slice.hpp"

namespace garuda::graphics {

/// Draws the rows of a slice, each expression once, and leaves on the device what the draws of the group-by read.
/// Errors of all draws: those of DrawnRows; invalid_input, noted in the programs, where a row has no value and asks for
/// one, or one that is not computed here.
class EvaluatedRows {
 public:
  /// The arguments outlive this.
  EvaluatedRows(compute::ComputeContext& context, vk::PipelineStore& pipelines, RowPrograms const& programs,
                contract::GroupSlice const& slice)
      : context_(context), pipelines_(pipelines), programs_(programs), rows_{slice.num_rows, slice.first_row} {}

  bool has_filter() const noexcept { return programs_.filter.has_value(); }
  /// Records words 0 and 1 a row at `flags`: 1 where the row passes. Requires: has_filter().
  Result<void> draw_filter(VkDeviceAddress flags);
  /// Records the values of an expression for the rows that are drawn.
  Result<vulkan::UploadedColumn> draw_values(std::size_t expression, contract::ValueKind kind,
                                             vulkan::DeviceGroups const& groups);
  /// Lets go what draws took. Requires: what was recorded is done.
  void release() { drawn_.reset(); }

 private:
  Result<void> check() const;

  compute::ComputeContext& context_;
  vk::PipelineStore& pipelines_;
  RowPrograms const& programs_;
  RowsToDraw rows_;  // all of the slice
  std::optional<DrawnRows> drawn_;
};

}  // namespace garuda::graphics
