#include "operators/graphics/rows/drawn_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace garuda::graphics {
namespace {

/// Pixels of an image, at most: 32 MiB where values are drawn, and points enough to fill a device.
constexpr std::uint64_t kMostWindowRows = std::uint64_t{1} << 20;
/// Pixels of an image, where there is memory for as many.
constexpr std::uint64_t kLeastWindowRows = std::uint64_t{1} << 12;

/// Columns, steps and what the last pass took, written by passes and copies.
constexpr vk::ResourceUse kWritten{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                   VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                   VK_IMAGE_LAYOUT_UNDEFINED};

VkFormat format_of(RowForm form) { return form == RowForm::flags ? VK_FORMAT_R32_UINT : VK_FORMAT_R32G32B32A32_UINT; }

std::uint32_t layers_of(RowForm form) { return form == RowForm::flags ? 1 : 2; }

char const* draw_entry(RowForm form, bool native_floats) {
  if (form == RowForm::flags)
    return native_floats ? "rows/draw_rows.vert:FLAGS,NATIVE_FLOATS" : "rows/draw_rows.vert:FLAGS";
  return native_floats ? "rows/draw_rows.vert:VALUES,NATIVE_FLOATS" : "rows/draw_rows.vert:VALUES";
}

PipelineSpec draw_pipeline(RowForm form, bool native_floats) {
  bool const draws_flags = form == RowForm::flags;
  PassSpec spec{draw_entry(form, native_floats), 0, 0, sizeof(shaders::DrawRowsPush)};
  spec.fragment = draws_flags ? "points/color_uint.frag" : "points/color_uvec4_pair.frag";
  spec.targets.assign(layers_of(form), {format_of(form), vk::Blend::none});
  return pipeline_spec(spec);
}

PipelineSpec take_pipeline(RowForm form) {
  constexpr auto kImage = bindings(shaders::kBindDrawnRows);
  return pipeline_spec({form == RowForm::flags ? "rows/take_rows.comp:FLAGS" : "rows/take_rows.comp:VALUES", kImage,
                        kImage, sizeof(shaders::TakeRowsPush)});
}

}  // namespace

Result<DrawnRows> DrawnRows::create(compute::ComputeContext& context, vk::PipelineStore& pipelines, RowForm form,
                                    RowsToDraw const& rows) {
  GARUDA_EXPECTS(rows.count > 0);
  DrawnRows drawn;
  drawn.attachments_ = layers_of(form);
  drawn.rows_ = rows;
  GARUDA_TRY_ASSIGN(drawn.draw_, compile(pipelines, draw_pipeline(form, context.tuning().native_floats)));
  GARUDA_TRY_ASSIGN(drawn.take_, compile(pipelines, take_pipeline(form)));
  auto const pixel_bytes = form == RowForm::flags ? 4U : 32U;
  auto const affordable = std::max(context.bytes_left() / 4 / pixel_bytes, kLeastWindowRows);
  auto pixels = std::min({rows.count, kMostWindowRows, affordable});
  GARUDA_TRY_ASSIGN(drawn.image_,
                    context.halved_until_it_fits(pixels, std::min(pixels, kLeastWindowRows), [&](std::uint64_t n) {
                      drawn.shape_ = vulkan::image_for(n, vulkan::kDefaultResultExtent);
                      return context.image(format_of(form), drawn.shape_, drawn.attachments_, "drawn rows");
                    }));
  GARUDA_TRY_ASSIGN(drawn.state_, context.device_buffer(sizeof(std::uint32_t), "state of expressions"));
  return drawn;
}

Result<void> DrawnRows::record_flags(compute::ComputeContext& context, char const* phase,
                                     compute::ExpressionSteps const& steps, VkDeviceAddress flags) {
  shaders::TakeRowsPush take{};
  take.target = flags;
  return record(context, phase, steps, take);
}

Result<void> DrawnRows::record_column(compute::ComputeContext& context, char const* phase,
                                      compute::ExpressionSteps const& steps, compute::DeviceColumn target,
                                      std::optional<NullBit> nulls) {
  shaders::TakeRowsPush take{};
  take.target = target.address;
  take.words = target.words;
  if (nulls) {
    take.nulls = nulls->words;
    take.null_bit = nulls->bit;
  }
  return record(context, phase, steps, take);
}

Result<void> DrawnRows::record_values(compute::ComputeContext& context, char const* phase,
                                      compute::ExpressionSteps const& steps, compute::DeviceColumn target,
                                      VkDeviceAddress validity) {
  shaders::TakeRowsPush take{};
  take.target = target.address;
  take.words = target.words;
  take.validity = validity;
  return record(context, phase, steps, take);
}

Result<void> DrawnRows::record(compute::ComputeContext& context, char const* phase,
                               compute::ExpressionSteps const& steps, shaders::TakeRowsPush take) {
  if (steps_.empty()) GARUDA_TRY(context.fill(phase, state_, 0));
  can_fail_ = can_fail_ || steps.can_fail();
  GARUDA_TRY_ASSIGN(auto placed, compute::DeviceSteps::create(context, steps));
  auto const& on_device = steps_.emplace_back(std::move(placed));
  GARUDA_TRY(on_device.record(context, phase));
  take.state = state_.address();
  take.log2_width = shape_.log2_width;
  take.rows = rows_.list;
  for (std::uint64_t first = 0; first < rows_.count; first += shape_.pixels()) {
    take.first_vertex = static_cast<std::uint32_t>(first);
    take.num_rows = static_cast<std::uint32_t>(std::min(shape_.pixels(), rows_.count - first));
    GARUDA_TRY(draw_window(context, phase, on_device, take));
  }
  return {};
}

Result<void> DrawnRows::draw_window(compute::ComputeContext& context, char const* phase,
                                    compute::DeviceSteps const& steps, shaders::TakeRowsPush const& take) {
  // Columns and steps, before vertices read them; what the pass before has taken, before the next one adds to it.
  GARUDA_TRY(context.order(phase, kWritten, vk::use::kVertexRead | vk::use::kComputeWrite));
  shaders::DrawRowsPush push{};
  push.steps = steps.address();
  push.num_steps = steps.num_steps();
  push.rows = rows_.list;
  push.first_vertex = take.first_vertex;
  push.base = static_cast<std::uint32_t>(rows_.first);
  push.image = shape_.raster();
  vulkan::PointPass pass;
  pass.phase = phase;
  pass.label = "rows";
  pass.pipeline = draw_;
  pass.push = vulkan::push_bytes(push);
  pass.target = &image_;
  pass.attachments = attachments_;
  pass.area = {shape_.width(), shape_.height};
  pass.clear = vk::clear_uint(0);
  pass.first_vertex = take.first_vertex;
  pass.vertices = take.num_rows;
  pass.last_use = vk::use::kComputeSampled;
  pass.next_use = vk::use::kComputeSampled;
  context.submissions().add_counter("passes", 1);
  GARUDA_TRY(context.submissions().draw(pass));
  std::array const resources{vk::BoundResource::of(shaders::kBindDrawnRows, image_.array_view())};
  return context.PassContext::dispatch(phase, "drawn rows", *take_, resources, vulkan::push_bytes(take), take.num_rows);
}

Result<compute::ExpressionState> DrawnRows::read_state(compute::ComputeContext& context, char const* phase) const {
  if (!can_fail_) return compute::ExpressionState{};
  return compute::read_expression_state(context, phase, state_);
}

std::vector<PipelineSpec> drawn_row_pipelines(bool native_floats) {
  return {draw_pipeline(RowForm::flags, native_floats), take_pipeline(RowForm::flags),
          draw_pipeline(RowForm::values, native_floats), take_pipeline(RowForm::values)};
}

}  // namespace garuda::graphics
