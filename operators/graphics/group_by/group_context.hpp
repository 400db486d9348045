// Every pipeline of the graphics group-by, by pass; the context that all passes of one slice share, and accumulator
// images of one pixel a group and lane: for counts, spans and extremes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/graphics/group_by/group_by_choice.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/vulkan/group_slice.hpp"
#include "shaders/shared/group_by_layout.h"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {

/// A pass, named after its shader and, where it has variants, by what it reads.
enum class GroupPass : std::uint8_t {
  hash_packed,
  hash_words,
  hash_rowid,
  map_packed,
  map_words,
  map_rowid,
  scan_counts,
  scan_bases,
  compact_rows,
  number_rows,
  count,
  fold_counts,
  spans,
  fold_spans,
  allot_pixels,
  place_pixels,
  sum,
  fold_sums,
  extremes,
  fold_extremes,
};
inline constexpr std::size_t kGroupPasses = 20;

/// The constants that pipelines are specialised by. Passes ignore those that they do not read.
struct GroupPassKind {
  std::uint32_t key_words = 1;    ///< of packed keys: 1 or 2
  bool direct = false;            ///< direct addresses, else hash addresses
  bool listed = false;            ///< over a list of rows, else over all rows
  std::uint32_t attachments = 1;  ///< of the hash image with key words in it, 1…kMaxKeyAttachments
  contract::ValueKind values = contract::ValueKind::none;
  bool nulls = false;
};

/// Most colour attachments of a hash image: what devices commonly have, room for 31 key words.
inline constexpr std::uint32_t kMaxKeyAttachments = 8;

/// Description of a pass's pipeline.
PipelineSpec group_by_pipeline(GroupPass pass, GroupPassKind const& kind);

/// All pipelines that the graphics group-by can create, each once, on a device with so many colour attachments.
std::vector<PipelineSpec> graphics_group_by_pipelines(std::uint32_t max_attachments);

/// References outlive the context; used by one thread.
class GroupContext : public vulkan::PassContext {
 public:
  GroupContext(vk::Lane& lane, vk::PipelineStore& pipelines, vulkan::Submissions& submissions,
               GroupByLimits const& limits, GroupByTuning const& tuning, std::uint64_t memory_budget_bytes)
      : vulkan::PassContext(lane, submissions, memory_budget_bytes),
        pipelines_(pipelines),
        limits_(limits),
        tuning_(tuning) {}

  GroupByLimits const& limits() const noexcept { return limits_; }
  GroupByTuning const& tuning() const noexcept { return tuning_; }

  Result<vk::Pipeline const*> pipeline(GroupPass pass, GroupPassKind const& kind = {}) {
    return compile(pipelines_, group_by_pipeline(pass, kind));
  }

  /// Binds and dispatches a compute pass, one invocation per `invocations`. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, GroupPass pass, GroupPassKind const& kind,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations);

  /// Draws, and counts the pass.
  Result<void> draw(vulkan::PointPass const& pass);

  /// Records a prefix sum over `counts`, u32 values written by compute; vertices and compute that follow see it.
  Result<void> prefix_sum(PrefixSum& sum, char const* phase, vk::Buffer const& counts);

  /// The largest part of `pixels` accumulator pixels that images and memory hold at once, `bytes_each` taken by image
  /// and buffers together, `buffer_bytes_each` by the largest buffer. At least 1.
  std::uint64_t pixels_at_once(std::uint64_t pixels, std::uint64_t bytes_each, std::uint64_t buffer_bytes_each) const;

 private:
  vk::PipelineStore& pipelines_;
  GroupByLimits const& limits_;
  GroupByTuning const& tuning_;
};

/// A column on the device. Values that the kind has none of, and a validity that no row lacks, are empty.
struct SliceColumn : vulkan::UploadedColumn {
  contract::ValueKind kind = contract::ValueKind::none;

  bool nulls() const noexcept { return static_cast<bool>(validity); }
  GroupPassKind pass_kind(vulkan::DeviceGroups const& groups) const noexcept {
    GroupPassKind pass;
    pass.listed = groups.is_listed;
    pass.values = kind;
    pass.nulls = nulls();
    return pass;
  }
  /// Group ids, the list of rows, values and validity for a pass.
  std::vector<vk::BoundResource> resources(vulkan::DeviceGroups const& groups) const;
};

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

  /// Draws every row of `groups` that is drawn once.
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
