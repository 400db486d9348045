// The context that all passes of one slice of a group-by share.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/group_by.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/graphics/group_by/group_by_choice.hpp"
#include "operators/graphics/group_by/group_by_pipelines.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/vulkan/group_slice.hpp"
#include "shaders/shared/group_by_layout.h"

namespace garuda::graphics {

/// References outlive the context; used by one thread.
class GroupContext : public vulkan::PassContext {
 public:
  /// `stats` may be null.
  GroupContext(vk::Lane& lane, vk::PipelineStore& pipelines, vulkan::Submissions& submissions,
               GroupByLimits const& limits, GroupByTuning const& tuning, contract::StatsSink* stats,
               std::uint64_t memory_budget_bytes)
      : vulkan::PassContext(lane, submissions, memory_budget_bytes),
        pipelines_(pipelines),
        limits_(limits),
        tuning_(tuning),
        stats_(stats) {}

  GroupByLimits const& limits() const noexcept { return limits_; }
  GroupByTuning const& tuning() const noexcept { return tuning_; }

  Result<vk::Pipeline const*> pipeline(GroupPass pass, GroupPassKind const& kind = {}) {
    return get_pipeline(pipelines_, pass, kind);
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

  void add_counter(char const* name, std::uint64_t value) {
    if (stats_ != nullptr) stats_->add_counter(name, value);
  }
  void max_counter(char const* name, std::uint64_t value) {
    if (stats_ != nullptr) stats_->max_counter(name, value);
  }

 private:
  vk::PipelineStore& pipelines_;
  GroupByLimits const& limits_;
  GroupByTuning const& tuning_;
  contract::StatsSink* stats_;
};

/// A column on the device. Values that the kind has none of, and a validity that no row lacks, are empty.
struct SliceColumn : vulkan::UploadedColumn {
  contract::ValueKind kind = contract::ValueKind::none;

  bool nulls() const noexcept { return static_cast<bool>(validity); }
  GroupPassKind pass_kind() const noexcept {
    GroupPassKind pass;
    pass.values = kind;
    pass.nulls = nulls();
    return pass;
  }
  /// Group ids, values and validity for a pass.
  std::vector<vk::BoundResource> resources(vulkan::DeviceGroups const& groups) const;
};

}  // namespace garuda::graphics
