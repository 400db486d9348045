#include "operators/graphics/graphics_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "operators/graphics/group_by_slice.hpp"
#include "operators/graphics/row_grouping.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::operators {
namespace {

class GraphicsGroupByBackend final : public GroupByBackend {
 public:
  static Result<std::unique_ptr<GraphicsGroupByBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                              GroupByBackendOptions const& options);

  Result<std::unique_ptr<GroupByKernel>> begin(GroupSlice const& slice, std::uint32_t lane) override;

 private:
  explicit GraphicsGroupByBackend(GroupByBackendOptions const& options) : options_(options) {}
  Result<void> open_lanes(vk::Device& device);

  GroupByBackendOptions options_;
  GroupByLimits limits_;
  std::uint64_t lane_budget_bytes_ = 0;
  vk::PipelineStore* pipelines_ = nullptr;
  std::vector<std::unique_ptr<vk::Lane>> lanes_;
};

Result<std::unique_ptr<GraphicsGroupByBackend>> GraphicsGroupByBackend::open(vk::Device& device,
                                                                             vk::PipelineStore& pipelines,
                                                                             GroupByBackendOptions const& options) {
  GARUDA_EXPECTS(options.lanes > 0);
  std::unique_ptr<GraphicsGroupByBackend> backend(new GraphicsGroupByBackend(options));
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(backend->limits_, group_by_limits(traits, options.tuning));
  backend->limits_.expected_groups = options.expected_groups;
  if (!backend->limits_.blend && options.stats != nullptr) {
    options.stats->note(
        options.tuning.counting == Counting::compute
            ? "counting=compute: aggregates run as compute passes"
            : fmt::format("{} cannot blend all 32-bit float formats: aggregates run as compute passes", traits.name));
  }
  auto const available = device.memory().available_bytes();
  auto const limit = options.device_memory_limit_bytes;
  backend->lane_budget_bytes_ = (limit == 0 ? available : std::min(limit, available)) / options.lanes;
  backend->pipelines_ = &pipelines;
  GARUDA_TRY(backend->open_lanes(device));
  return backend;
}

Result<void> GraphicsGroupByBackend::open_lanes(vk::Device& device) {
  vk::LaneOptions lane_options;
  GARUDA_TRY_ASSIGN(lane_options.transfer.mode, upload_mode(device.traits(), options_.tuning.upload));
  lane_options.name = "group-by lane";
  for (std::uint32_t lane = 0; lane < options_.lanes; ++lane) {
    lane_options.queue = lane;
    GARUDA_TRY_ASSIGN(auto opened, vk::Lane::create(device, lane_options));
    lanes_.push_back(std::move(opened));
  }
  return {};
}

Result<std::unique_ptr<GroupByKernel>> GraphicsGroupByBackend::begin(GroupSlice const& slice, std::uint32_t lane) {
  auto& state = *lanes_.at(lane);
  // The lane's previous kernel is gone: its memory is free again.
  GARUDA_TRY(state.reset());
  return GroupBySlice::start({&state, pipelines_, &limits_, &options_, lane_budget_bytes_, &RowGrouping::start}, slice);
}

}  // namespace

Result<std::unique_ptr<GroupByBackend>> open_graphics_group_by(vk::Device& device, vk::PipelineStore& pipelines,
                                                               GroupByBackendOptions const& options) {
  GARUDA_TRY_ASSIGN(std::unique_ptr<GroupByBackend> backend, GraphicsGroupByBackend::open(device, pipelines, options));
  return backend;
}

}  // namespace garuda::operators
