#include "operators/graphics/group_by/group_target.hpp"

#include <algorithm>

namespace garuda::graphics {

Result<GroupTarget> GroupTarget::create(GroupContext& context, vulkan::DeviceGroups const& groups, VkFormat format,
                                        std::uint32_t layers, std::uint32_t folded_bytes) {
  GroupTarget target;
  target.layers_ = layers;
  auto const format_bytes = format == VK_FORMAT_R32G32B32A32_SFLOAT ? 16U : format == VK_FORMAT_R32G32_SFLOAT ? 8U : 4U;
  auto const texel_bytes = format_bytes * layers;
  target.lanes_ = group_lanes(groups.num_rows, groups.num_groups, texel_bytes, context.limits());
  auto const group_bytes = std::uint64_t{texel_bytes} * target.lanes_;
  // Folding takes at least the image's own share, so that one group always fits.
  auto const pixels = std::uint64_t{groups.num_groups} * target.lanes_;
  auto const at_once = context.pixels_at_once(pixels, (group_bytes + folded_bytes) / target.lanes_ + 1,
                                              std::max<std::uint64_t>(folded_bytes, 1));
  auto groups_at_once = std::max<std::uint64_t>(at_once / target.lanes_, 1);
  GARUDA_TRY_ASSIGN(target.image_, context.halved_until_it_fits(groups_at_once, 1, [&](std::uint64_t n) {
    target.shape_ = vulkan::image_for(n * target.lanes_, context.limits().accumulator_extent);
    return context.image(format, target.shape_, layers, "accumulators");
  }));
  target.groups_at_once_ = static_cast<std::uint32_t>(groups_at_once);
  context.max_counter("accumulator_pixels", pixels);
  return target;
}

shaders::GroupsPush GroupTarget::push(vulkan::DeviceGroups const& groups, GroupRange range) const noexcept {
  return {shape_.raster(), groups.num_rows, range.first, range.size, lanes_};
}

Result<void> GroupTarget::draw(GroupContext& context, char const* phase, char const* label,
                               vk::Pipeline const& pipeline, std::span<vk::BoundResource const> resources,
                               std::span<std::byte const> push, vulkan::DeviceGroups const& groups,
                               VkClearColorValue clear) {
  vulkan::PointPass pass;
  pass.phase = phase;
  pass.label = label;
  pass.pipeline = &pipeline;
  pass.resources = resources;
  pass.push = push;
  pass.target = &image_;
  pass.attachments = layers_;
  pass.area = {shape_.width(), shape_.height};
  pass.clear = clear;
  pass.vertices = groups.num_rows;
  pass.last_use = vk::use::kComputeSampled;  // the fold of an earlier range
  pass.next_use = vk::use::kComputeSampled;
  return context.draw(pass);
}

}  // namespace garuda::graphics
