// The context that all passes of one slice of a join share.
#pragma once

#include <cstdint>
#include <span>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/graphics/join/graphics_choice.hpp"
#include "operators/graphics/join/join_pipelines.hpp"
#include "operators/graphics/join/prefix_sum.hpp"
#include "operators/vulkan/pass_context.hpp"

namespace garuda::graphics {

/// References outlive the context; used by one thread.
class KernelContext : public vulkan::PassContext {
 public:
  KernelContext(vk::Lane& lane, JoinPipelines& pipelines, vulkan::Submissions& submissions,
                GraphicsLimits const& limits, JoinTuning const& tuning, std::uint64_t memory_budget_bytes)
      : vulkan::PassContext(lane, submissions, memory_budget_bytes),
        pipelines_(pipelines),
        limits_(limits),
        tuning_(tuning) {}

  JoinPipelines& pipelines() noexcept { return pipelines_; }
  GraphicsLimits const& limits() const noexcept { return limits_; }
  JoinTuning const& tuning() const noexcept { return tuning_; }
  std::uint32_t key_words() const noexcept { return pipelines_.key_words(); }
  std::uint32_t key_bits() const noexcept { return 32 * key_words(); }

  /// Binds and dispatches a compute pass of the join, one invocation per `invocations`, each of which works on
  /// `items_each` elements. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, JoinPass pass, bool direct,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations, std::uint64_t items_each = 1);

  /// The pipelines of a prefix sum over what `scan`, one of the scan_… passes, reads.
  Result<ScanPipelines> scan_pipelines(JoinPass scan);

 private:
  JoinPipelines& pipelines_;
  GraphicsLimits const& limits_;
  JoinTuning const& tuning_;
};

}  // namespace garuda::graphics
