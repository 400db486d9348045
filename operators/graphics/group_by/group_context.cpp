#include "operators/graphics/group_by/group_context.hpp"

#include <algorithm>
#include <array>

namespace garuda::graphics {
Result<void> GroupContext::dispatch(char const* phase, char const* label, GroupPass pass, GroupPassKind const& kind,
                                    std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                    std::uint64_t invocations) {
  GARUDA_TRY_ASSIGN(auto const* compiled, pipeline(pass, kind));
  return vulkan::PassContext::dispatch(phase, label, *compiled, resources, push, invocations);
}

Result<void> GroupContext::draw(vulkan::PointPass const& pass) {
  add_counter("passes", 1);
  max_counter("attachments", pass.attachments);
  return submissions().draw(pass);
}

Result<void> GroupContext::prefix_sum(PrefixSum& sum, char const* phase, vk::Buffer const& counts) {
  ScanPipelines pipelines;
  GARUDA_TRY_ASSIGN(pipelines.scan, pipeline(GroupPass::scan_counts));
  GARUDA_TRY_ASSIGN(pipelines.bases, pipeline(GroupPass::scan_bases));
  // Counts before they are summed up, readers of the earlier sum before it is replaced.
  GARUDA_TRY(order(phase, vk::use::kVertexRead | vk::use::kComputeWrite, vk::use::kComputeWrite));
  std::array const resources{vk::BoundResource::of(shaders::kBindCounts, counts)};
  return sum.record(*this, phase, pipelines, resources, 0);
}

std::uint64_t GroupContext::pixels_at_once(std::uint64_t pixels, std::uint64_t bytes_each,
                                           std::uint64_t buffer_bytes_each) const {
  auto const largest_image = vulkan::most_texels(limits_.accumulator_extent);
  // A quarter is left for the unfilled last row of the image, alignment and the caller's other buffers.
  auto const affordable = bytes_left() / 4 * 3 / bytes_each;
  auto const most = std::min({pixels, largest_image, affordable, limits_.max_buffer_bytes / buffer_bytes_each});
  return std::max<std::uint64_t>(most, 1);
}

std::vector<vk::BoundResource> SliceColumn::resources(vulkan::DeviceGroups const& groups) const {
  // A variant that reads no values or no validity is bound to a buffer that is there.
  return {vk::BoundResource::of(shaders::kBindIds, groups.ids),
          vk::BoundResource::of(shaders::kBindValues, values ? values : groups.ids),
          vk::BoundResource::of(shaders::kBindValidity, validity ? validity : groups.ids)};
}

}  // namespace garuda::graphics
