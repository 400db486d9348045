#include "operators/compute/compute_lane.hpp"

#include <utility>

namespace garuda::operators {

Result<std::unique_ptr<ComputeLane>> ComputeLane::open(vk::Device& device, vk::PipelineStore& pipelines,
                                                       std::string_view tuning, Control const& control,
                                                       StatsSink* stats) {
  GARUDA_TRY_ASSIGN(auto chosen, compute_tuning(device.traits()));
  GARUDA_TRY(apply_tuning(tuning, device.traits().limits, chosen));
  vk::LaneOptions options;
  options.name = "compute lane";
  GARUDA_TRY_ASSIGN(auto lane, vk::Lane::create(device, options));
  return std::unique_ptr<ComputeLane>(new ComputeLane(std::move(lane), pipelines, chosen, control, stats));
}

ComputeLane::ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
                         Control const& control, StatsSink* stats)
    : tuning_(tuning),
      lane_(std::move(lane)),
      submissions_(*lane_, &control, stats),
      context_(*lane_, pipelines, submissions_, tuning_, lane_->device().memory().available_bytes()) {}

ComputeLane::~ComputeLane() {
  // A failure to drain is a lost device: nothing runs any more.
  (void)lane_->drain();
}

}  // namespace garuda::operators
