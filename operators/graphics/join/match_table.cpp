#include "operators/graphics/join/match_table.hpp"

#include <array>

namespace garuda::graphics {

std::uint64_t mark_bytes(std::uint32_t rows) noexcept { return contract::bitmap_words(rows) * sizeof(std::uint64_t); }

Result<contract::MarkBitmap> download_marks(KernelContext& context, vk::Buffer const& marks, std::uint32_t rows) {
  contract::MarkBitmap bitmap(contract::bitmap_words(rows));
  GARUDA_TRY(context.download(marks, std::as_writable_bytes(std::span(bitmap))));
  return bitmap;
}

Result<MatchTable> MatchTable::create(KernelContext& context, SliceSide const& probe, Storage storage) {
  MatchTable table;
  table.probe_ = &probe;
  table.storage_ = storage;
  table.shape_ = vulkan::image_for(probe.rows(), context.limits().rows_extent);
  if (table.has_image(context)) {
    auto const format = storage == Storage::runs ? VK_FORMAT_R32G32_UINT : VK_FORMAT_R32_SFLOAT;
    GARUDA_TRY_ASSIGN(table.count_fbo_, context.image(format, table.shape_, 1, "CountFBO"));
  } else if (storage == Storage::runs) {
    GARUDA_TRY_ASSIGN(table.counts_, context.buffer(std::uint64_t{probe.rows()} * 4, "counts"));
  }
  GARUDA_TRY_ASSIGN(table.matches_, context.buffer(std::uint64_t{probe.rows()} * 4, "matches"));
  GARUDA_TRY_ASSIGN(table.marks_,
                    context.zeroed_buffer(mark_bytes(probe.rows()), "probe marks", vulkan::phase::kCount));
  GARUDA_TRY_ASSIGN(table.prefix_, PrefixSum::create(context, probe.rows(), "output offsets"));
  return table;
}

bool MatchTable::has_image(KernelContext& context) const noexcept {
  auto const& limits = context.limits();
  return !limits.computes_matches && (storage_ == Storage::runs || limits.blend);
}

Result<void> MatchTable::count_stack(KernelContext& context, HashStack const& stack, std::uint32_t slice) {
  auto const& [direct, address, image] = stack.address();
  auto const layers = stack.layers_of(slice);
  shaders::CountPush const push{address, image.raster(), shape_.raster(), probe_->rows(), layers, 0};
  auto const keys = vk::BoundResource::of(shaders::kBindKeys, probe_->keys());
  auto const images = vk::BoundResource::of(shaders::kBindLayers, stack.images().array_view());
  if (has_image(context)) {
    std::array const resources{keys, images};
    GARUDA_TRY(draw_counts(context, JoinPass::count_stack, direct, push, resources, layers));
    return scan(context, JoinPass::scan_layer_image);
  }
  std::array const resources{keys, images, vk::BoundResource::of(shaders::kBindMatches, matches_)};
  // Sets of an earlier slice, read by probe and mark passes, before they are replaced.
  GARUDA_TRY(
      context.order(vulkan::phase::kCount, vk::use::kVertexRead | vk::use::kComputeWrite, vk::use::kComputeWrite));
  GARUDA_TRY(context.dispatch(vulkan::phase::kCount, "count", JoinPass::count_stack_compute, direct, resources,
                              vulkan::push_bytes(push), probe_->rows()));
  GARUDA_TRY(context.order(vulkan::phase::kCount, vk::use::kComputeWrite, vk::use::kComputeWrite));
  return scan(context, JoinPass::scan_layer_sets);
}

Result<void> MatchTable::count_runs(KernelContext& context, RunTable const& runs) {
  auto const& [direct, address, image] = *runs.build().address();
  shaders::CountPush const push{address, image.raster(), shape_.raster(), probe_->rows(), 0, runs.build().rows()};
  auto resources = runs.lookup();
  resources.push_back(vk::BoundResource::of(shaders::kBindKeys, probe_->keys()));
  if (has_image(context)) {
    GARUDA_TRY(draw_counts(context, JoinPass::count_runs, direct, push, resources, 1));
    return scan(context, JoinPass::scan_run_image);
  }
  resources.push_back(vk::BoundResource::of(shaders::kBindMatches, matches_));
  resources.push_back(vk::BoundResource::of(shaders::kBindCounts, counts_));
  GARUDA_TRY(context.dispatch(vulkan::phase::kCount, "count", JoinPass::count_runs_compute, direct, resources,
                              vulkan::push_bytes(push), probe_->rows()));
  // Counts, before they are summed.
  GARUDA_TRY(context.order(vulkan::phase::kCount, vk::use::kComputeWrite, vk::use::kComputeWrite));
  return scan(context, JoinPass::scan_run_counts);
}

Result<void> MatchTable::draw_counts(KernelContext& context, JoinPass pass, bool direct, shaders::CountPush const& push,
                                     std::span<vk::BoundResource const> resources, std::uint32_t instances) {
  vulkan::PointPass points;
  points.phase = vulkan::phase::kCount;
  points.label = "count";
  GARUDA_TRY_ASSIGN(points.pipeline, context.pipeline(pass, direct));
  points.resources = resources;
  points.push = vulkan::push_bytes(push);
  points.target = &count_fbo_;
  points.area = {shape_.width(), shape_.height};
  points.clear = vk::clear_uint(0);  // all bits 0: 0.0 as a float, too
  points.vertices = probe_->rows();
  points.instances = instances;
  points.last_use = vk::use::kComputeSampled;  // the prefix sum of an earlier slice
  points.next_use = vk::use::kComputeSampled;
  return context.submissions().draw(points);
}

Result<void> MatchTable::scan(KernelContext& context, JoinPass pass) {
  std::vector<vk::BoundResource> inputs{vk::BoundResource::of(shaders::kBindMarks, marks_)};
  if (pass == JoinPass::scan_run_counts) {
    inputs.push_back(vk::BoundResource::of(shaders::kBindCounts, counts_));
  } else {
    inputs.push_back(vk::BoundResource::of(shaders::kBindMatches, matches_));
  }
  if (has_image(context)) inputs.push_back(vk::BoundResource::of(shaders::kBindCountImage, count_fbo_.layer_view()));
  // Matches and offsets of an earlier slice, read by probe and mark passes, before they are replaced.
  GARUDA_TRY(
      context.order(vulkan::phase::kPrefix, vk::use::kVertexRead | vk::use::kComputeWrite, vk::use::kComputeWrite));
  GARUDA_TRY_ASSIGN(auto const pipelines, context.scan_pipelines(pass));
  return prefix_.record(context, vulkan::phase::kPrefix, pipelines, inputs, shape_.log2_width);
}

}  // namespace garuda::graphics
