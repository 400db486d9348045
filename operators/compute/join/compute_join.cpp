#include "operators/compute/join/compute_join.hpp"

#include <algorithm>

#include "operators/compute/join/compute_kernel.hpp"
#include "operators/compute/join/join_tasks.hpp"
#include "operators/compute/join/sorted_kernel.hpp"
#include "operators/compute/primitives/partitioned_side.hpp"
#include "operators/vulkan/device_lanes.hpp"

namespace garuda::compute {
namespace {

class ComputeBackend final : public contract::JoinBackend {
 public:
  static Result<std::unique_ptr<ComputeBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                      contract::BackendOptions const& options);

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::JoinSlice const& slice, std::uint32_t lane) override;

 private:
  ComputeBackend(vk::PipelineStore& pipelines, contract::BackendOptions const& options)
      : pipelines_(pipelines), options_(options) {}

  vk::PipelineStore& pipelines_;
  contract::BackendOptions options_;
  ComputeTuning tuning_;
  vulkan::DeviceLanes lanes_;
};

Result<std::unique_ptr<ComputeBackend>> ComputeBackend::open(vk::Device& device, vk::PipelineStore& pipelines,
                                                             contract::BackendOptions const& options) {
  GARUDA_EXPECTS(options.lanes > 0 && (options.key_bits == 32 || options.key_bits == 64));
  std::unique_ptr<ComputeBackend> backend(new ComputeBackend(pipelines, options));
  GARUDA_TRY_ASSIGN(backend->tuning_, compute_tuning(device.traits()));
  GARUDA_TRY_ASSIGN(backend->lanes_,
                    vulkan::DeviceLanes::open(device, {options.lanes, options.tuning.upload,
                                                       options.device_memory_limit_bytes, "compute join lane"}));
  return backend;
}

Result<std::unique_ptr<contract::JoinKernel>> ComputeBackend::begin(contract::JoinSlice const& slice,
                                                                    std::uint32_t lane) {
  GARUDA_TRY_ASSIGN(auto* const own, lanes_.take(lane));
  ComputeResources const resources{own, &pipelines_, &tuning_, &options_, lanes_.lane_budget_bytes};
  auto const method = options_.tuning.method;
  if (method == JoinMethod::global || method == JoinMethod::sorted)
    return SortedKernel::start(resources, slice, method);
  return ComputeKernel::start(resources, slice);
}

}  // namespace

std::uint64_t compute_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                                 JoinMethod method, ComputeTuning const& tuning, bool pairs_wanted) noexcept {
  auto const rows = left_rows + right_rows;
  auto const window = pairs_wanted ? std::min(rows, tuning.join_window_rows) * sizeof(contract::RowPair) : 0;
  if (method == JoinMethod::global || method == JoinMethod::sorted)
    return sorted_join_bytes(left_rows, right_rows, key_bits, method, tuning) + window;
  auto const bits = join_radix_bits(std::max<std::uint64_t>(std::min(left_rows, right_rows), 1), tuning);
  auto const key_bytes = std::uint64_t{key_bits} / 8;
  auto bytes = rows * (key_bytes + std::min<std::uint64_t>(bits_of_passes(bits, tuning.partition_bits).size(), 2) *
                                       (key_bytes + sizeof(std::uint32_t)));
  for (auto const side : {left_rows, right_rows}) bytes += radix_scratch_bytes(side, bits, tuning);
  return bytes + window;
}

Result<std::unique_ptr<contract::JoinBackend>> open_compute_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                 contract::BackendOptions const& options) {
  GARUDA_TRY_ASSIGN(std::unique_ptr<contract::JoinBackend> backend, ComputeBackend::open(device, pipelines, options));
  return backend;
}

}  // namespace garuda::compute
