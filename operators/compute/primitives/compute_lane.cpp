#include "operators/compute/primitives/compute_lane.hpp"

#include <algorithm>
#include <utility>

namespace garuda::compute {

Result<std::unique_ptr<ComputeLane>> ComputeLane::open(vk::Device& device, vk::PipelineStore& pipelines,
                                                       Control const& control, contract::StatsSink* stats,
                                                       std::uint64_t memory_limit_bytes) {
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(device.traits()));
  vk::LaneOptions options;
  options.name = "compute lane";
  GARUDA_TRY_ASSIGN(auto lane, vk::Lane::create(device, options));
  auto const available = device.memory().available_bytes();
  auto const budget = memory_limit_bytes == 0 ? available : std::min(memory_limit_bytes, available);
  return std::unique_ptr<ComputeLane>(new ComputeLane(std::move(lane), pipelines, tuning, control, stats, budget));
}

ComputeLane::ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
                         Control const& control, contract::StatsSink* stats, std::uint64_t memory_budget_bytes)
    : tuning_(tuning),
      lane_(std::move(lane)),
      submissions_(*lane_, &control, stats),
      context_(*lane_, pipelines, submissions_, tuning_, memory_budget_bytes) {}

ComputeLane::~ComputeLane() {
  // A failure to drain is a lost device: nothing runs any more.
  (void)lane_->drain();
}

}  // namespace garuda::compute
