#include "operators/graphics/join/slice_side.hpp"

#include <array>
#include <variant>

namespace garuda::graphics {
namespace {

std::span<std::byte const> bytes_of(contract::KeySpan const& keys) {
  return std::visit([](auto const& words) { return std::as_bytes(words); }, keys.words);
}

}  // namespace

Result<void> SliceSide::upload(KernelContext& context) {
  auto const source = bytes_of(*keys_);
  GARUDA_TRY_ASSIGN(buffer_, context.input(source, side_ == Side::left ? "left keys" : "right keys"));
  return {};
}

Result<void> SliceSide::draw_clashes(KernelContext& context) {
  auto const& image = address_->image;
  GARUDA_TRY_ASSIGN(clash_image_, context.image(VK_FORMAT_R32_SFLOAT, image, 1, "statistics image"));
  shaders::StatisticsPush const push{address_->address, image.raster(), rows()};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, buffer_)};
  vulkan::PointPass pass;
  pass.phase = vulkan::phase::kStatistics;
  pass.label = "statistics";
  GARUDA_TRY_ASSIGN(pass.pipeline, context.pipelines().get(JoinPass::statistics, address_->direct));
  pass.resources = resources;
  pass.push = vulkan::push_bytes(push);
  pass.target = &clash_image_;
  pass.area = {image.width(), image.height};
  pass.clear = vk::clear_float(0);
  pass.vertices = rows();
  pass.next_use = vk::use::kComputeSampled;
  return context.submissions().draw(pass);
}

Result<void> SliceSide::count_clashes(KernelContext& context) {
  GARUDA_TRY_ASSIGN(clash_counts_,
                    context.zeroed_buffer(address_->image.pixels() * 4, "clash counts", vulkan::phase::kStatistics));
  shaders::StatisticsPush const push{address_->address, address_->image.raster(), rows()};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, buffer_),
                             vk::BoundResource::of(shaders::kBindCounts, clash_counts_)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kStatistics, "statistics", JoinPass::statistics_count, address_->direct,
                              resources, vulkan::push_bytes(push), rows()));
  return context.order(vulkan::phase::kStatistics, vk::use::kComputeWrite, vk::use::kComputeRead);
}

Result<void> SliceSide::record_statistics(KernelContext& context) {
  GARUDA_EXPECTS(address_.has_value() && !has_recorded_statistics());
  bool const blend = context.limits().blend;
  GARUDA_TRY(blend ? draw_clashes(context) : count_clashes(context));
  GARUDA_TRY_ASSIGN(statistics_buffer_, context.zeroed_buffer(sizeof(shaders::ClashStatistics), "clash statistics",
                                                              vulkan::phase::kStatistics));
  auto const pixels = static_cast<std::uint32_t>(address_->image.pixels());
  shaders::ReducePush const push{address_->image.log2_width, pixels};
  std::array const resources{blend ? vk::BoundResource::of(shaders::kBindCountImage, clash_image_.layer_view())
                                   : vk::BoundResource::of(shaders::kBindCounts, clash_counts_),
                             vk::BoundResource::of(shaders::kBindStatistics, statistics_buffer_)};
  auto const pass = blend ? JoinPass::statistics_reduce_image : JoinPass::statistics_reduce_counts;
  auto const groups = (pixels + shaders::kReducePixels - 1) / shaders::kReducePixels;
  return context.dispatch(vulkan::phase::kStatistics, "reduce statistics", pass, false, resources,
                          vulkan::push_bytes(push), std::uint64_t{groups} * shaders::kGroupSize,
                          shaders::kReducePixels / shaders::kGroupSize);
}

Result<shaders::ClashStatistics const*> SliceSide::statistics(KernelContext& context) {
  if (!statistics_) {
    shaders::ClashStatistics read{};
    GARUDA_TRY(context.read_back(vulkan::phase::kStatistics, statistics_buffer_, 0,
                                 std::as_writable_bytes(std::span<shaders::ClashStatistics, 1>(&read, 1))));
    statistics_ = read;
  }
  return &*statistics_;
}

}  // namespace garuda::graphics
