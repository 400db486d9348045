#include "operators/compute/group_by/compute_group_by.hpp"

#include <algorithm>
#include <vector>

#include "operators/compute/group_by/hash_grouping.hpp"
#include "operators/graphics/group_by/group_by_slice.hpp"
#include "operators/vulkan/device_lanes.hpp"

namespace garuda::compute {
namespace {

class ComputeGroupByBackend final : public contract::GroupByBackend {
 public:
  static Result<std::unique_ptr<ComputeGroupByBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                             contract::GroupByBackendOptions const& options);

  Result<std::unique_ptr<contract::GroupByKernel>> begin(contract::GroupSlice const& slice,
                                                         std::uint32_t lane) override;

 private:
  ComputeGroupByBackend(vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options)
      : pipelines_(pipelines), options_(options) {}

  vk::PipelineStore& pipelines_;
  contract::GroupByBackendOptions options_;
  graphics::GroupByLimits limits_;
  ComputeTuning tuning_;
  vulkan::DeviceLanes lanes_;
};

Result<std::unique_ptr<ComputeGroupByBackend>> ComputeGroupByBackend::open(
    vk::Device& device, vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options) {
  GARUDA_EXPECTS(options.lanes > 0);
  std::unique_ptr<ComputeGroupByBackend> backend(new ComputeGroupByBackend(pipelines, options));
  GARUDA_TRY_ASSIGN(backend->limits_, compute_group_by_limits(device.traits(), options.tuning));
  backend->limits_.expected_groups = options.expected_groups;
  GARUDA_TRY_ASSIGN(backend->tuning_, compute_tuning(device.traits()));
  GARUDA_TRY_ASSIGN(backend->lanes_,
                    vulkan::DeviceLanes::open(device, {options.lanes, options.tuning.upload,
                                                       options.device_memory_limit_bytes, "compute group-by lane"}));
  return backend;
}

Result<std::unique_ptr<contract::GroupByKernel>> ComputeGroupByBackend::begin(contract::GroupSlice const& slice,
                                                                              std::uint32_t lane) {
  GARUDA_TRY_ASSIGN(auto* const own, lanes_.take(lane));
  auto const start = [this](graphics::GroupContext& context, contract::GroupSlice const& rows) {
    return HashGrouping::start({&pipelines_, &tuning_, lanes_.lane_budget_bytes}, context, rows);
  };
  return graphics::GroupBySlice::start({own, &pipelines_, &limits_, &options_, lanes_.lane_budget_bytes, start}, slice);
}

}  // namespace

Result<graphics::GroupByLimits> compute_group_by_limits(vk::DeviceTraits const& traits, GroupByTuning const& tuning) {
  if (tuning.counting == Counting::blend)
    return fail(ErrorCode::usage, "counting=blend was asked for, but the compute path draws nothing");
  GARUDA_TRY(compute_tuning(traits));
  auto in_buffers = tuning;
  in_buffers.counting = Counting::compute;
  return graphics::group_by_limits(traits, in_buffers);
}

std::uint64_t compute_group_by_slice_bytes(std::uint64_t rows, std::uint32_t key_words, std::uint32_t value_words,
                                           graphics::GroupByLimits const& limits) noexcept {
  // Keys, table, slots, first rows and their sums go before values come.
  auto const grouping = rows * (4 * std::uint64_t{key_words} + 3 * 4 + 1) + hash_table_slots(rows) * 4;
  auto const drawn = graphics::group_by_slice_bytes(rows, 0, value_words, limits);
  return std::max(rows * 8 + grouping, drawn);
}

Result<std::unique_ptr<contract::GroupByBackend>> open_compute_group_by(
    vk::Device& device, vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options) {
  GARUDA_TRY_ASSIGN(std::unique_ptr<contract::GroupByBackend> backend,
                    ComputeGroupByBackend::open(device, pipelines, options));
  return backend;
}

}  // namespace garuda::compute
