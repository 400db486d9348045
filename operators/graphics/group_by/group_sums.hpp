// Exact sums of each group by additive blending of limbs.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {

/// Sums of one column. A group's windows, one for integers up to 64 bits, two for 128 bits, those between the lowest
/// and the highest one touched for floats, get a pixel in each of the group's lanes (group_lanes), of which it has more
/// when more than kPixelRows rows may meet (sum_lanes). The pixels of all groups follow each other; they are drawn,
/// folded and read back in parts when there are more than images and memory hold at once.
class GroupSums {
 public:
  /// `groups.group_rows` is filled when sum_lanes is above 1. Both outlive this.
  GroupSums(vulkan::DeviceGroups const& groups, SliceColumn const& column) : groups_(groups), column_(column) {}

  /// Fills `state`'s sums, or float sums. Waits.
  Result<void> run(GroupContext& context, contract::AggregateState& state);

 private:
  std::uint32_t windows_each() const noexcept;
  Result<void> find_spans(GroupContext& context);
  Result<void> allot_pixels(GroupContext& context);
  Result<void> read_layout(GroupContext& context);
  Result<void> sum_part(GroupContext& context, vulkan::ImageShape const& shape, std::uint32_t first,
                        std::uint32_t size);
  Result<void> draw_part(GroupContext& context, shaders::SumPush const& push, vulkan::ImageShape const& shape);
  std::vector<vk::BoundResource> resources() const;
  vk::BoundResource spans() const;
  void add_part(std::uint32_t first, std::span<std::uint64_t const> part);
  void finish(contract::AggregateState& state);

  vulkan::DeviceGroups const& groups_;
  SliceColumn const& column_;
  vk::Buffer spans_;         // floats: groups × (u32, u32)
  vk::Buffer first_pixels_;  // (groups + 1) × u32
  vk::Image limbs_;
  vk::Buffer sums_;          // of a part
  std::uint32_t lanes_ = 1;  // of groups of kPixelRows rows or fewer
  std::uint64_t num_pixels_ = 0;

  std::vector<std::uint32_t> first_pixel_of_;  // a group, and the total
  contract::FloatSums floats_;                 // all but the windows
  contract::Words windows_;                    // two words a window
  std::uint32_t next_group_ = 0;               // the first whose pixels are not all added up
};

}  // namespace garuda::graphics
