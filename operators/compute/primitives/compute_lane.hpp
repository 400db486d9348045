// A lane opened for the compute passes of one call.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/vulkan/submissions.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::compute {

/// Owns a lane and the context of its passes; waits for its work when it goes. Used by one thread; does not move.
class ComputeLane {
 public:
  /// What is passed outlives the lane; `stats` may be null. `memory_limit_bytes`: most device memory that its context
  /// takes, 0: what there is. Errors: no_device for a device that cannot run compute passes; out_of_memory,
  /// device_failure.
  static Result<std::unique_ptr<ComputeLane>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                   Control const& control, contract::StatsSink* stats,
                                                   std::uint64_t memory_limit_bytes = 0);
  ComputeLane(ComputeLane const&) = delete;
  ComputeLane& operator=(ComputeLane const&) = delete;
  ~ComputeLane();

  ComputeContext& context() noexcept { return context_; }
  vulkan::Submissions& submissions() noexcept { return submissions_; }

 private:
  ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
              Control const& control, contract::StatsSink* stats, std::uint64_t memory_budget_bytes);

  ComputeTuning tuning_;
  std::unique_ptr<vk::Lane> lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
};

}  // namespace garuda::compute
