#include "operators/graphics/join/kernel_context.hpp"

#include <array>
#include <bit>

namespace garuda::graphics {

// (low, high) pairs of the device are read as 64-bit values.
static_assert(std::endian::native == std::endian::little);

Result<PrefixSum> PrefixSum::create(vulkan::PassContext& context, std::uint32_t elements, char const* name) {
  PrefixSum sum;
  sum.resize(elements);
  GARUDA_TRY_ASSIGN(sum.offsets_, context.buffer(std::uint64_t{elements} * 4, name));
  GARUDA_TRY_ASSIGN(sum.tile_bases_, context.buffer((std::uint64_t{sum.num_tiles_} + 1) * 8, name));
  return sum;
}

void PrefixSum::resize(std::uint32_t elements) {
  elements_ = elements;
  num_tiles_ = (elements + shaders::kTileRows - 1) / shaders::kTileRows;
}

Result<void> PrefixSum::record(vulkan::PassContext& context, char const* phase, ScanPipelines const& pipelines,
                               std::span<vk::BoundResource const> counts, std::uint32_t log2_width) {
  shaders::ScanPush const push{elements_, log2_width, num_tiles_};
  std::vector<vk::BoundResource> resources(counts.begin(), counts.end());
  resources.push_back(vk::BoundResource::of(shaders::kBindOffsets, offsets_));
  resources.push_back(vk::BoundResource::of(shaders::kBindTileBases, tile_bases_));
  GARUDA_TRY(context.dispatch(phase, "prefix sum", *pipelines.scan, resources, vulkan::push_bytes(push), elements_));
  // Totals of the tiles, before one workgroup sums them up.
  GARUDA_TRY(context.order(phase, vk::use::kComputeWrite, vk::use::kComputeWrite));
  std::array const bases{vk::BoundResource::of(shaders::kBindTileBases, tile_bases_)};
  GARUDA_TRY(context.dispatch(phase, "prefix sum of tiles", *pipelines.bases, bases, vulkan::push_bytes(push),
                              shaders::kGroupSize));
  // Offsets, bases and what the scan wrote besides, before vertices look positions up and compute goes on.
  return context.order(phase, vk::use::kComputeWrite, vk::use::kComputeWrite | vk::use::kVertexRead);
}

Result<std::uint64_t> PrefixSum::total(vulkan::PassContext& context, char const* phase) {
  std::uint64_t total = 0;
  GARUDA_TRY(context.read_back(phase, tile_bases_, std::uint64_t{num_tiles_} * 8,
                               std::as_writable_bytes(std::span<std::uint64_t, 1>(&total, 1))));
  return total;
}

Result<std::vector<std::uint64_t>> PrefixSum::bases(vulkan::PassContext& context) {
  std::vector<std::uint64_t> bases(std::size_t{num_tiles_} + 1);
  GARUDA_TRY(context.download(tile_bases_, std::as_writable_bytes(std::span(bases))));
  return bases;
}

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
