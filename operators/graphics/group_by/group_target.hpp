// Accumulator images of one pixel a group and lane: for counts, spans and extremes.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {

/// Groups [first, first + size) of one draw.
struct GroupRange {
  std::uint32_t first = 0;
  std::uint32_t size = 0;
};

/// An image that holds the lanes of as many groups as images and memory allow. Groups beyond are drawn and folded range
/// by range.
class GroupTarget {
 public:
  /// `folded_bytes`: of a group in the buffer that draws are folded into, where that is taken by range; else 0.
  static Result<GroupTarget> create(GroupContext& context, vulkan::DeviceGroups const& groups, VkFormat format,
                                    std::uint32_t layers, std::uint32_t folded_bytes);

  /// Groups of a range: the last one has fewer.
  std::uint32_t groups_at_once() const noexcept { return groups_at_once_; }
  /// The range that starts at `first`.
  GroupRange range(std::uint32_t first, std::uint32_t num_groups) const noexcept {
    return {first, std::min(groups_at_once_, num_groups - first)};
  }
  shaders::GroupsPush push(vulkan::DeviceGroups const& groups, GroupRange range) const noexcept;

  /// Draws every row of `groups` once.
  Result<void> draw(GroupContext& context, char const* phase, char const* label, vk::Pipeline const& pipeline,
                    std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                    vulkan::DeviceGroups const& groups, VkClearColorValue clear);

  vk::BoundResource resource() const noexcept {
    return vk::BoundResource::of(shaders::kBindAccumulators, image_.array_view());
  }

 private:
  vk::Image image_;
  vulkan::ImageShape shape_;
  std::uint32_t layers_ = 1;
  std::uint32_t lanes_ = 1;
  std::uint32_t groups_at_once_ = 0;
};

}  // namespace garuda::graphics
