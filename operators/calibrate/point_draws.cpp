#include "operators/calibrate/point_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "shaders/calibration/calibration_layout.h"
#include "shaders/embedded.hpp"

namespace garuda::calibrate {
namespace {

constexpr char const* kDrawPhase = "draw";

VkFormat format_of(PointTarget target) noexcept {
  switch (target) {
    case PointTarget::overwrite_2:
      return VK_FORMAT_R32G32_UINT;
    case PointTarget::overwrite_4:
      return VK_FORMAT_R32G32B32A32_UINT;
    case PointTarget::add:
      break;
  }
  return VK_FORMAT_R32_SFLOAT;
}

Result<void> check_device(vk::DeviceTraits const& traits, PointImage const& image) {
  auto const extent = traits.max_render_extent();
  if (std::max(image.width, image.height) > extent)
    return fail(ErrorCode::limit_exceeded, fmt::format("{} renders images of at most {} pixels a side: {} x {}",
                                                       traits.name, extent, image.width, image.height));
  if (image.target == PointTarget::add && !traits.format(vk::PixelFormat::r32_sfloat).blend)
    return fail(ErrorCode::no_device, fmt::format("{} cannot blend R32_SFLOAT", traits.name));
  return {};
}

vk::GraphicsPipelineSpec pipeline_spec(PointTarget target) {
  vk::GraphicsPipelineSpec spec;
  auto const is_add = target == PointTarget::add;
  spec.vertex = shaders::get("calibration/points.vert");
  spec.fragment = shaders::get(is_add ? "calibration/points.frag:ADD" : "calibration/points.frag");
  spec.bindings = {{shaders::kBindPixels, vk::BindingKind::storage_buffer}};
  spec.push_bytes = sizeof(shaders::PointsPush);
  spec.targets = {{format_of(target), is_add ? vk::Blend::add : vk::Blend::none}};
  return spec;
}

}  // namespace

std::uint32_t words_per_pixel(PointTarget target) noexcept {
  switch (target) {
    case PointTarget::overwrite_2:
      return 2;
    case PointTarget::overwrite_4:
      return 4;
    case PointTarget::add:
      break;
  }
  return 1;
}

Result<PointDraw> PointDraw::create(vk::Lane& lane, vk::PipelineStore& pipelines, PointImage const& image,
                                    std::span<std::uint32_t const> pixels) {
  GARUDA_EXPECTS(std::has_single_bit(image.width) && image.height > 0);
  GARUDA_TRY(check_device(lane.device().traits(), image));
  PointDraw draw(lane, image, pixels.size());
  GARUDA_TRY_ASSIGN(draw.pipeline_, pipelines.compile(pipeline_spec(image.target)));
  GARUDA_TRY_ASSIGN(draw.target_, lane.arena().image({.format = format_of(image.target),
                                                      .width = image.width,
                                                      .height = image.height,
                                                      .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                                      .name = "bare points"}));
  if (pixels.empty()) return draw;
  GARUDA_TRY_ASSIGN(draw.pixels_, lane.arena().buffer({.bytes = pixels.size_bytes(), .name = "bare points pixels"}));
  GARUDA_TRY_ASSIGN(auto const uploaded, lane.transfer().upload(draw.pixels_, 0, std::as_bytes(pixels)));
  GARUDA_TRY(lane.wait(uploaded));
  return draw;
}

std::uint32_t PointDraw::rows_per_submission() const noexcept {
  auto const& traits = lane_->device().traits();
  // A window of the pixel buffer has to start at a multiple of the offset alignment: a power of two of at most 256.
  constexpr std::uint64_t kRowsPerAlignment = 256 / sizeof(std::uint32_t);
  auto const most = std::min({traits.max_points_per_submission,
                              traits.limits.max_storage_buffer_range / sizeof(std::uint32_t), std::uint64_t{1} << 31});
  return static_cast<std::uint32_t>(std::max(most / kRowsPerAlignment, std::uint64_t{1}) * kRowsPerAlignment);
}

Result<void> PointDraw::clear() {
  GARUDA_TRY_ASSIGN(auto recorder, lane_->begin());
  recorder.barrier(target_, vk::use::kUndefined, vk::use::kTransferWrite);
  recorder.clear(target_, vk::clear_uint(0));
  recorder.barrier(target_, vk::use::kTransferWrite, vk::use::kColorAttachment);
  return lane_->submit_and_wait(std::move(recorder));
}

Result<void> PointDraw::draw_rows(std::uint64_t first, std::uint32_t count) {
  shaders::PointsPush const push{static_cast<std::uint32_t>(first),
                                 static_cast<std::uint32_t>(std::countr_zero(spec_.width)),
                                 2.0F / static_cast<float>(spec_.width), 2.0F / static_cast<float>(spec_.height)};
  vk::BoundResource const resources[] = {vk::BoundResource::of(
      shaders::kBindPixels, pixels_.view(first * sizeof(std::uint32_t), count * sizeof(std::uint32_t)))};
  vk::ColorAttachment const attachments[] = {{.view = target_.layer_view()}};
  GARUDA_TRY_ASSIGN(auto recorder, lane_->begin());
  recorder.barrier(target_, vk::use::kColorAttachment, vk::use::kColorAttachment);
  recorder.begin_phase(kDrawPhase);
  recorder.begin_rendering(VkExtent2D{spec_.width, spec_.height}, attachments);
  GARUDA_TRY(recorder.bind(*pipeline_, resources, push));
  recorder.draw(count);
  recorder.end_rendering();
  recorder.end_phase();
  return lane_->submit_and_wait(std::move(recorder));
}

Result<std::uint64_t> PointDraw::run() {
  GARUDA_TRY(clear());
  GARUDA_TRY(lane_->recycle());
  lane_->timer().clear();
  auto const step = rows_per_submission();
  for (std::uint64_t first = 0; first < num_rows_; first += step)
    GARUDA_TRY(draw_rows(first, static_cast<std::uint32_t>(std::min<std::uint64_t>(step, num_rows_ - first))));
  GARUDA_TRY(lane_->recycle());
  std::uint64_t ns = 0;
  for (auto const& phase : lane_->timer().times())
    if (phase.name == kDrawPhase) ns += static_cast<std::uint64_t>(phase.ns);
  return ns;
}

Result<std::vector<std::uint32_t>> PointDraw::read_image() {
  std::vector<std::uint32_t> words(spec_.num_pixels() * words_per_pixel(spec_.target));
  auto const bytes = std::as_writable_bytes(std::span(words));
  GARUDA_TRY_ASSIGN(auto const buffer, lane_->arena().buffer({.bytes = bytes.size(), .name = "bare points read back"}));
  GARUDA_TRY_ASSIGN(auto recorder, lane_->begin());
  recorder.barrier(target_, vk::use::kColorAttachment, vk::use::kTransferRead);
  recorder.copy(target_, 0, VkRect2D{{0, 0}, {spec_.width, spec_.height}}, buffer.view());
  recorder.barrier(target_, vk::use::kTransferRead, vk::use::kColorAttachment);
  recorder.barrier(buffer, vk::use::kTransferWrite, vk::use::kTransferRead);
  GARUDA_TRY_ASSIGN(auto const copied, lane_->submit(std::move(recorder)));
  GARUDA_TRY(lane_->transfer().download(buffer, 0, bytes, copied));
  return words;
}

}  // namespace garuda::calibrate
