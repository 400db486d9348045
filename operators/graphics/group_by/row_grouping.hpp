// Groups the rows of a slice by rendering (GARUDA §4.1.1, §4.2.1).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {

/// Keys of a slice on the device, and the images that find their groups. Images are drawn until no row is left: in
/// each, the lowest row of a pixel wins, rows of the same key take it as the head of their group, rows of other keys go
/// into the next image, under another hash. A head is the first row of its key, for all rows of a key share a pixel in
/// every image. The lowest row that is left wins its pixel, so each image ends at least one group.
class RowGrouping {
 public:
  /// Chooses how, takes memory and starts the uploads. `slice`'s keys are KeySpan or KeyWords and outlive this.
  /// Errors: usage when direct addresses were asked for and the key range does not fit the image, or keys have several
  /// words; no_device when more colour attachments were asked for than there are; limit_exceeded.
  static Result<std::unique_ptr<RowGrouping>> start(GroupContext& context, contract::GroupSlice const& slice);

  /// Finds the groups: fills `groups`' number, ids and head rows, which have room for every row, of rows that are
  /// drawn; others have the id kClippedRow. Waits.
  Result<void> run(GroupContext& context, vulkan::DeviceGroups& groups);

 private:
  Result<void> start_packed(GroupContext& context, contract::KeySpan const& keys, contract::GroupSlice const& slice);
  Result<void> start_words(GroupContext& context, contract::KeyWords const& keys);
  Result<void> take_memory(GroupContext& context);
  Result<void> draw_image(GroupContext& context, shaders::HashPush const& push, vulkan::ImageShape const& shape);
  Result<void> map_rows(GroupContext& context, shaders::HashPush const& push);
  Result<void> begin_with(GroupContext& context, vk::Buffer const& passing);
  Result<std::uint32_t> list_losers(GroupContext& context, std::uint32_t count);
  Result<void> number_groups(GroupContext& context, vulkan::DeviceGroups& groups);
  shaders::HashPush push_of(std::uint32_t count, vulkan::ImageShape const& shape) const;
  GroupPassKind pass_kind() const;
  bool is_first() const noexcept { return iteration_ == first_iteration_; }
  vk::BoundResource rows() const;

  std::uint32_t num_rows_ = 0;
  GroupPass hash_pass_ = GroupPass::hash_packed;
  GroupPass map_pass_ = GroupPass::map_packed;
  GroupPassKind kind_;
  SideAddress address_;  // of the first image; for packed keys
  std::uint32_t num_words_ = 0;
  std::uint32_t hash_first_ = 0;
  std::uint32_t hash_count_ = 0;
  VkFormat format_ = VK_FORMAT_UNDEFINED;
  std::uint32_t attachments_ = 1;
  std::uint64_t texel_bytes_ = 0;
  std::uint64_t image_bytes_ = 0;        // that an image may take
  std::uint32_t iteration_ = 0;          // of images and lists; above 0 passes are over a list
  std::uint32_t first_iteration_ = 0;    // with an image
  vk::Buffer const* passing_ = nullptr;  // rows of the first image; nullptr: all

  vk::Buffer keys_;
  vk::Image image_;
  vk::Buffer map_;
  vk::Buffer heads_;
  vk::Buffer lost_;
  PrefixSum sum_;
  std::array<vk::Buffer, 2> lists_;  // of iterations 1, 3, … and 2, 4, …
};

}  // namespace garuda::graphics
