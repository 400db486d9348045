#include "operators/graphics/group_by/evaluated_rows.hpp"

#include <algorithm>

namespace garuda::graphics {

Result<void> EvaluatedRows::check() const {
  GARUDA_TRY_ASSIGN(auto const said, drawn_->read_state(context_, kDrawPhase));
  if (said.has_failed || said.is_unsettled) {
    programs_.give_up();
    return fail(ErrorCode::invalid_input, "a row has no value, or one that shaders do not compute");
  }
  // The values that were taken from the images are written before draws and passes of the group-by read them.
  return context_.order(kDrawPhase, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
}

Result<void> EvaluatedRows::draw_filter(VkDeviceAddress flags) {
  GARUDA_TRY_ASSIGN(drawn_, DrawnRows::create(context_, pipelines_, RowForm::flags, rows_));
  GARUDA_TRY(drawn_->record_flags(context_, kDrawPhase, *programs_.filter, flags));
  return check();
}

Result<vulkan::UploadedColumn> EvaluatedRows::draw_values(std::size_t expression, contract::ValueKind kind,
                                                          vulkan::DeviceGroups const& groups) {
  vulkan::UploadedColumn column;
  auto const words = contract::value_words(kind);
  auto& context = static_cast<vulkan::PassContext&>(context_);
  GARUDA_TRY_ASSIGN(column.values, context.buffer(std::max<std::uint64_t>(rows_.count * words, 1) * 4, "values"));
  GARUDA_TRY_ASSIGN(column.validity, context.zeroed_buffer((rows_.count + 31) / 32 * 4, "validity", kDrawPhase));
  RowsToDraw const drawn{groups.num_drawn, rows_.first, groups.is_listed ? groups.rows.address() : 0};
  GARUDA_TRY_ASSIGN(drawn_, DrawnRows::create(context_, pipelines_, RowForm::values, drawn));
  GARUDA_TRY(drawn_->record_values(context_, kDrawPhase, programs_.values.at(expression),
                                   {column.values.address(), words}, column.validity.address()));
  GARUDA_TRY(check());
  return column;
}

}  // namespace garuda::graphics
