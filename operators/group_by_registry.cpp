#include "operators/group_by_registry.hpp"

#include <array>

#include "operators/compute/compute_group_by.hpp"
#include "operators/cpu/cpu_group_by.hpp"
#include "operators/cuda/cuda_group_by.hpp"
#include "operators/graphics/graphics_group_by.hpp"

namespace garuda::operators {
namespace {

constexpr std::array kGroupByPaths{
    GroupByPath{Path::graphics, true,
                [](OpenDevice device, GroupByBackendOptions const& options) {
                  return open_graphics_group_by(*device.device, *device.pipelines, options);
                }},
    GroupByPath{Path::compute, true,
                [](OpenDevice device, GroupByBackendOptions const& options) {
                  return open_compute_group_by(*device.device, *device.pipelines, options);
                }},
    GroupByPath{Path::cuda, true,
                [](OpenDevice device, GroupByBackendOptions const& options) {
                  return open_cuda_group_by(*device.cuda, options);
                }},
    GroupByPath{Path::cpu, false,
                [](OpenDevice, GroupByBackendOptions const& options) { return open_cpu_group_by(options); }, true},
};

}  // namespace

std::span<GroupByPath const> group_by_paths() noexcept { return kGroupByPaths; }

GroupByPath const* find_group_by_path(Path path) noexcept {
  for (auto const& row : kGroupByPaths)
    if (row.path == path) return &row;
  return nullptr;
}

}  // namespace garuda::operators
