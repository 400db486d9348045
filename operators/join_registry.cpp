#include "operators/join_registry.hpp"

#include <array>

#include "operators/compute/compute_join.hpp"
#include "operators/cpu/cpu_join.hpp"
#include "operators/cuda/cuda_join.hpp"
#include "operators/graphics/graphics_join.hpp"

namespace garuda::operators {
namespace {

constexpr std::array kJoinPaths{
    JoinPath{Path::graphics, true,
             [](OpenDevice device, BackendOptions const& options) {
               return open_graphics_join(*device.device, *device.pipelines, options);
             }},
    JoinPath{Path::compute, true,
             [](OpenDevice device, BackendOptions const& options) {
               return open_compute_join(*device.device, *device.pipelines, options);
             }},
    JoinPath{Path::cuda, true,
             [](OpenDevice device, BackendOptions const& options) { return open_cuda_join(*device.cuda, options); }},
    JoinPath{Path::cpu, false, [](OpenDevice, BackendOptions const& options) { return open_cpu_join(options); }},
};

}  // namespace

std::span<JoinPath const> join_paths() noexcept { return kJoinPaths; }

JoinPath const* find_join_path(Path path) noexcept {
  for (auto const& row : kJoinPaths)
    if (row.path == path) return &row;
  return nullptr;
}

}  // namespace garuda::operators
