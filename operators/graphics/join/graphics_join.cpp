#include "operators/graphics/join/graphics_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "operators/graphics/join/graphics_kernel.hpp"
#include "operators/graphics/join/join_pipelines.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {
namespace {

class GraphicsBackend final : public contract::JoinBackend {
 public:
  static Result<std::unique_ptr<GraphicsBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                       contract::BackendOptions const& options,
                                                       ImageSizes const& sizes);

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::JoinSlice const& slice, std::uint32_t lane) override;

 private:
  explicit GraphicsBackend(contract::BackendOptions const& options) : options_(options) {}

  contract::BackendOptions options_;
  GraphicsLimits limits_;
  vulkan::DeviceLanes lanes_;
  std::vector<JoinPipelines> pipelines_;  // of each lane
};

Result<std::unique_ptr<GraphicsBackend>> GraphicsBackend::open(vk::Device& device, vk::PipelineStore& pipelines,
                                                               contract::BackendOptions const& options,
                                                               ImageSizes const& sizes) {
  GARUDA_EXPECTS(options.lanes > 0 && (options.key_bits == 32 || options.key_bits == 64));
  std::unique_ptr<GraphicsBackend> backend(new GraphicsBackend(options));
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(backend->limits_, graphics_limits(traits, options.tuning, sizes));
  if (options.rates) backend->limits_.costs = raster_costs(*options.rates, options.tuning.matching);
  if (!traits.format(vk::PixelFormat::r32_sfloat).blend && options.stats != nullptr) {
    options.stats->note(
        fmt::format("{} cannot blend R32_SFLOAT: statistics and stack counts run as compute passes", traits.name));
  }
  GARUDA_TRY_ASSIGN(backend->lanes_,
                    vulkan::DeviceLanes::open(device, {options.lanes, options.tuning.upload,
                                                       options.device_memory_limit_bytes, "join lane"}));
  for (std::uint32_t lane = 0; lane < options.lanes; ++lane)
    backend->pipelines_.emplace_back(pipelines, options.key_bits / 32);
  return backend;
}

Result<std::unique_ptr<contract::JoinKernel>> GraphicsBackend::begin(contract::JoinSlice const& slice,
                                                                     std::uint32_t lane) {
  GARUDA_TRY_ASSIGN(auto* const own, lanes_.take(lane));
  return GraphicsKernel::start({own, &pipelines_.at(lane), &limits_, &options_, lanes_.lane_budget_bytes}, slice);
}

}  // namespace

Result<std::unique_ptr<contract::JoinBackend>> open_graphics_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                  contract::BackendOptions const& options,
                                                                  ImageSizes const& sizes) {
  GARUDA_TRY_ASSIGN(std::unique_ptr<contract::JoinBackend> backend,
                    GraphicsBackend::open(device, pipelines, options, sizes));
  return backend;
}

}  // namespace garuda::graphics
