#include "operators/graphics/group_by/graphics_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "operators/graphics/group_by/group_by_slice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {
namespace {

class GraphicsGroupByBackend final : public contract::GroupByBackend {
 public:
  static Result<std::unique_ptr<GraphicsGroupByBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                              contract::GroupByBackendOptions const& options,
                                                              ImageSizes const& sizes);

  Result<std::unique_ptr<contract::GroupByKernel>> begin(contract::GroupSlice const& slice,
                                                         std::uint32_t lane) override;

 private:
  explicit GraphicsGroupByBackend(contract::GroupByBackendOptions const& options) : options_(options) {}

  contract::GroupByBackendOptions options_;
  GroupByLimits limits_;
  compute::ComputeTuning compute_;
  vk::PipelineStore* pipelines_ = nullptr;
  vulkan::DeviceLanes lanes_;
};

Result<std::unique_ptr<GraphicsGroupByBackend>> GraphicsGroupByBackend::open(
    vk::Device& device, vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options,
    ImageSizes const& sizes) {
  GARUDA_EXPECTS(options.lanes > 0);
  std::unique_ptr<GraphicsGroupByBackend> backend(new GraphicsGroupByBackend(options));
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(backend->limits_, group_by_limits(traits, sizes));
  backend->limits_.expected_groups = options.expected_groups;
  if (!backend->limits_.blend) {
    GARUDA_TRY_ASSIGN(backend->compute_, compute::compute_tuning(traits));
  }
  if (!backend->limits_.blend && sizes.blends && options.stats != nullptr) {
    options.stats->note(
        fmt::format("{} cannot blend all 32-bit float formats: aggregates run as compute passes", traits.name));
  }
  backend->pipelines_ = &pipelines;
  GARUDA_TRY_ASSIGN(backend->lanes_,
                    vulkan::DeviceLanes::open(device, {options.lanes, options.tuning.upload,
                                                       options.device_memory_limit_bytes, "group-by lane"}));
  return backend;
}

Result<std::unique_ptr<contract::GroupByKernel>> GraphicsGroupByBackend::begin(contract::GroupSlice const& slice,
                                                                               std::uint32_t lane) {
  GARUDA_TRY_ASSIGN(auto* const state, lanes_.take(lane));
  GroupByResources const resources{state, pipelines_, &limits_, &compute_, &options_, lanes_.lane_budget_bytes};
  return vulkan::GroupSliceKernel::start(std::make_unique<GroupBySlice>(resources), slice, options_);
}

}  // namespace

Result<std::unique_ptr<contract::GroupByBackend>> open_graphics_group_by(vk::Device& device,
                                                                         vk::PipelineStore& pipelines,
                                                                         contract::GroupByBackendOptions const& options,
                                                                         ImageSizes const& sizes) {
  GARUDA_TRY_ASSIGN(std::unique_ptr<contract::GroupByBackend> backend,
                    GraphicsGroupByBackend::open(device, pipelines, options, sizes));
  return backend;
}

}  // namespace garuda::graphics
