#include "operators/graphics/graphics_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "operators/graphics/graphics_kernel.hpp"
#include "operators/graphics/join_pipelines.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::operators {
namespace {

class GraphicsBackend final : public JoinBackend {
 public:
  static Result<std::unique_ptr<GraphicsBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                       BackendOptions const& options);

  Result<std::unique_ptr<JoinKernel>> begin(JoinSlice const& slice, std::uint32_t lane) override;

 private:
  struct LaneState {
    std::unique_ptr<vk::Lane> lane;
    JoinPipelines pipelines;
  };

  explicit GraphicsBackend(BackendOptions const& options) : options_(options) {}
  Result<void> open_lanes(vk::Device& device, vk::PipelineStore& pipelines);

  BackendOptions options_;
  GraphicsLimits limits_;
  std::uint64_t lane_budget_bytes_ = 0;
  std::vector<LaneState> lanes_;
};

Result<std::unique_ptr<GraphicsBackend>> GraphicsBackend::open(vk::Device& device, vk::PipelineStore& pipelines,
                                                               BackendOptions const& options) {
  GARUDA_EXPECTS(options.lanes > 0 && (options.key_bits == 32 || options.key_bits == 64));
  std::unique_ptr<GraphicsBackend> backend(new GraphicsBackend(options));
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(backend->limits_, graphics_limits(traits, options.tuning));
  if (options.rates) backend->limits_.costs = raster_costs(*options.rates);
  if (!backend->limits_.blend && options.tuning.counting == Counting::automatic && options.stats != nullptr) {
    options.stats->note(
        fmt::format("{} cannot blend R32_SFLOAT: statistics and stack counts run as compute passes", traits.name));
  }
  auto const available = device.memory().available_bytes();
  auto const limit = options.device_memory_limit_bytes;
  backend->lane_budget_bytes_ = (limit == 0 ? available : std::min(limit, available)) / options.lanes;
  GARUDA_TRY(backend->open_lanes(device, pipelines));
  return backend;
}

Result<void> GraphicsBackend::open_lanes(vk::Device& device, vk::PipelineStore& pipelines) {
  vk::LaneOptions lane_options;
  GARUDA_TRY_ASSIGN(lane_options.transfer.mode, upload_mode(device.traits(), options_.tuning.upload));
  lane_options.name = "join lane";
  for (std::uint32_t lane = 0; lane < options_.lanes; ++lane) {
    lane_options.queue = lane;
    GARUDA_TRY_ASSIGN(auto opened, vk::Lane::create(device, lane_options));
    lanes_.push_back({std::move(opened), JoinPipelines(pipelines, options_.key_bits / 32)});
  }
  return {};
}

Result<std::unique_ptr<JoinKernel>> GraphicsBackend::begin(JoinSlice const& slice, std::uint32_t lane) {
  auto& state = lanes_.at(lane);
  // The lane's previous kernel is gone: its memory is free again.
  GARUDA_TRY(state.lane->reset());
  return GraphicsKernel::start({state.lane.get(), &state.pipelines, &limits_, &options_, lane_budget_bytes_}, slice);
}

}  // namespace

Result<std::unique_ptr<JoinBackend>> open_graphics_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                        BackendOptions const& options) {
  GARUDA_TRY_ASSIGN(std::unique_ptr<JoinBackend> backend, GraphicsBackend::open(device, pipelines, options));
  return backend;
}

}  // namespace garuda::operators
