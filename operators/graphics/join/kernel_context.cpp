#include "operators/graphics/join/kernel_context.hpp"

namespace garuda::graphics {

Result<void> KernelContext::dispatch(char const* phase, char const* label, JoinPass pass, bool direct,
                                     std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                     std::uint64_t invocations, std::uint64_t items_each) {
  GARUDA_TRY_ASSIGN(auto const* pipeline, pipelines_.get(pass, direct));
  return vulkan::PassContext::dispatch(phase, label, *pipeline, resources, push, invocations, items_each);
}

Result<ScanPipelines> KernelContext::scan_pipelines(JoinPass scan) {
  ScanPipelines pipelines;
  GARUDA_TRY_ASSIGN(pipelines.scan, pipelines_.get(scan));
  GARUDA_TRY_ASSIGN(pipelines.bases, pipelines_.get(JoinPass::scan_bases));
  return pipelines;
}

}  // namespace garuda::graphics
