// Rows of a table on a device, drawn as points: the vertex stage evaluates an expression for each, and a row that fails
// a filter is clipped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/expressions/expression_pass.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "shaders/shared/rows_layout.h"

namespace garuda::graphics {

/// The image of rows that are drawn, and what passes take from it.
enum class RowForm : std::uint8_t {
  flags,   ///< which rows pass a filter
  values,  ///< a column, and which of its rows are null
};

/// The bit that says which rows of a column are null.
struct NullBit {
  VkDeviceAddress words = 0;  ///< a word a row, zeroed
  std::uint32_t bit = 0;
};

/// The phase of draws whose vertices evaluate: a point costs more than an element of a pass, so that their paces are
/// measured apart.
inline constexpr char const* kDrawPhase = "draw rows";

/// Rows of a table: `count` from `first` on, or those of a list.
struct RowsToDraw {
  std::uint64_t count = 0;   ///< at least one, at most 2^31
  std::uint64_t first = 0;   ///< what is written counts from here
  VkDeviceAddress list = 0;  ///< count × u32, counted from `first`; 0: all of them
};

/// Draws rows of one table, an expression after the other, a window of rows at a time: shaders of the graphics
/// pipeline store nothing, so a row's result is the colour of its pixel, from which a compute pass takes it. Stays in
/// place until everything recorded has run.
class DrawnRows {
 public:
  /// Takes memory for the image. Errors: those of memory and pipelines.
  static Result<DrawnRows> create(compute::ComputeContext& context, vk::PipelineStore& pipelines, RowForm form,
                                  RowsToDraw const& rows);

  /// Records words 0 and 1 a row at `flags`: 1 where the row passes. `steps` end with ExpressionSteps::add_flags. Form:
  /// flags. Errors: those of DeviceSteps and submissions.
  Result<void> record_flags(compute::ComputeContext& context, char const* phase, compute::ExpressionSteps const& steps,
                            VkDeviceAddress flags);
  /// Records the values of an expression at `target`. `steps` end with ExpressionSteps::add_column. Form: values.
  /// Errors: as above.
  Result<void> record_column(compute::ComputeContext& context, char const* phase, compute::ExpressionSteps const& steps,
                             compute::DeviceColumn target, std::optional<NullBit> nulls);
  /// As record_column. `validity`: a bit a row, zeroed, which gets those of rows that have a value.
  Result<void> record_values(compute::ComputeContext& context, char const* phase, compute::ExpressionSteps const& steps,
                             compute::DeviceColumn target, VkDeviceAddress validity);
  /// Submits and waits, where a row can have left something.
  Result<compute::ExpressionState> read_state(compute::ComputeContext& context, char const* phase) const;

 private:
  Result<void> record(compute::ComputeContext& context, char const* phase, compute::ExpressionSteps const& steps,
                      shaders::TakeRowsPush take);
  Result<void> draw_window(compute::ComputeContext& context, char const* phase, compute::DeviceSteps const& steps,
                           shaders::TakeRowsPush const& take);

  vk::Pipeline const* draw_ = nullptr;
  vk::Pipeline const* take_ = nullptr;
  std::uint32_t attachments_ = 1;
  RowsToDraw rows_;
  vulkan::ImageShape shape_;
  vk::Image image_;
  vk::Buffer state_;
  bool can_fail_ = false;
  std::vector<compute::DeviceSteps> steps_;
};

/// Every pipeline of these passes, with this arithmetic (ComputeTuning::native_floats).
std::vector<PipelineSpec> drawn_row_pipelines(bool native_floats);

}  // namespace garuda::graphics
