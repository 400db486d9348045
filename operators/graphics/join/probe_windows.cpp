#include "operators/graphics/join/probe_windows.hpp"

#include <algorithm>

namespace garuda::graphics {
namespace {

JoinPass pass_of(Probe probe, ProbeSource const& source) {
  if (probe == Probe::instanced) return JoinPass::probe_instanced;
  return source.stack != nullptr ? JoinPass::probe_output_stack : JoinPass::probe_output_runs;
}

bool is_direct(ProbeSource const& source) { return source.stack != nullptr && source.stack->address().direct; }

JoinPass compute_pass_of(Probe probe, ProbeSource const& source) {
  if (probe == Probe::instanced) return JoinPass::probe_rows_compute;
  return source.stack != nullptr ? JoinPass::probe_output_stack_compute : JoinPass::probe_output_runs_compute;
}

}  // namespace

Result<ProbeWindows> ProbeWindows::create(KernelContext& context, Probe probe, std::uint64_t most_positions) {
  ProbeWindows windows;
  windows.probe_ = probe;
  auto const extent = context.limits().result_extent;
  // Half of what is left: an image's last row may be empty but for a texel.
  auto const room = std::max<std::uint64_t>(context.bytes_left() / kWindowBytes / 2, 1);
  auto texels = std::min({most_positions, std::uint64_t{extent} * extent, room});
  GARUDA_TRY(context.halved_until_it_fits(texels, 1, [&](std::uint64_t n) -> Result<void> {
    windows.shape_ = vulkan::image_for(n, extent);
    auto const bytes = windows.shape_.pixels() * sizeof(MatchedRows);
    if (context.limits().computes_matches) {
      GARUDA_TRY_ASSIGN(windows.pairs_, context.buffer(bytes, "result pairs"));
    } else {
      GARUDA_TRY_ASSIGN(windows.result_fbo_, context.image(VK_FORMAT_R32G32_UINT, windows.shape_, 1, "result FBO"));
    }
    GARUDA_TRY_ASSIGN(windows.staging_, context.buffer(bytes, "result copy", vk::MemoryUse::download));
    return {};
  }));
  return windows;
}

bool ProbeWindows::holds(std::uint32_t slice, std::uint64_t position) const noexcept {
  return kept_slice_ == slice && position >= window_.first && position - window_.first < window_.rows.size();
}

Result<OutputWindow> ProbeWindows::at(KernelContext& context, ProbeSource const& source, std::uint64_t position) {
  GARUDA_EXPECTS(position < source.total);
  if (holds(source.slice, position)) return window_;
  GARUDA_TRY(render(context, source, position / shape_.pixels()));
  GARUDA_EXPECTS(holds(source.slice, position));
  return window_;
}

Result<void> ProbeWindows::render(KernelContext& context, ProbeSource const& source, std::uint64_t index) {
  kept_slice_.reset();
  auto const first = index * shape_.pixels();
  auto const count = std::min(source.total - first, shape_.pixels());
  auto const rows = (count + shape_.width() - 1) / shape_.width();
  VkExtent2D const area{shape_.width(), static_cast<std::uint32_t>(rows)};
  if (pairs_) {
    GARUDA_TRY(write(context, source, first, count));
    GARUDA_TRY(download_pairs(context, count));
  } else {
    GARUDA_TRY(draw(context, source, first, count, area));
    GARUDA_TRY(download(context, area));
  }
  auto const* texel = reinterpret_cast<MatchedRows const*>(staging_.mapped());
  window_ = {first, {texel, static_cast<std::size_t>(count)}};
  kept_slice_ = source.slice;
  return {};
}

Result<ProbeWindows::RowRange> ProbeWindows::rows_of(KernelContext& context, ProbeSource const& source,
                                                     std::uint64_t first, std::uint64_t count) {
  if (bases_slice_ != source.slice) {
    GARUDA_TRY_ASSIGN(tile_bases_, source.matches->prefix().bases(context));
    bases_slice_ = source.slice;
  }
  // Rows with matches in the window lie between the last tile that starts at or before it and the first that starts at
  // or behind its end.
  auto const begin = std::ranges::upper_bound(tile_bases_, first) - tile_bases_.begin() - 1;
  auto const end = std::ranges::lower_bound(tile_bases_, first + count) - tile_bases_.begin();
  auto const rows = source.matches->probe().rows();
  return RowRange{static_cast<std::uint32_t>(begin) * shaders::kTileRows,
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(end * shaders::kTileRows, rows))};
}

std::vector<vk::BoundResource> ProbeWindows::resources(ProbeSource const& source) const {
  auto& matches = *source.matches;
  std::vector<vk::BoundResource> bound{vk::BoundResource::of(shaders::kBindOffsets, matches.prefix().offsets()),
                                       vk::BoundResource::of(shaders::kBindTileBases, matches.prefix().tile_bases()),
                                       vk::BoundResource::of(shaders::kBindMatches, matches.matches())};
  if (source.stack != nullptr) {
    bound.push_back(vk::BoundResource::of(shaders::kBindKeys, matches.probe().keys()));
    bound.push_back(vk::BoundResource::of(shaders::kBindLayers, source.stack->images().array_view()));
  } else {
    bound.push_back(vk::BoundResource::of(shaders::kBindRunRows, source.runs->rows()));
  }
  return bound;
}

shaders::ProbePush ProbeWindows::push_of(ProbeSource const& source, std::uint64_t first, std::uint64_t count) const {
  shaders::ProbePush push{};
  if (source.stack != nullptr) {
    push.address = source.stack->address().address;
    push.image = source.stack->address().image.raster();
  }
  push.window_low = static_cast<std::uint32_t>(first);
  push.window_high = static_cast<std::uint32_t>(first >> 32);
  push.window_size = static_cast<std::uint32_t>(count);
  push.num_tiles = source.matches->prefix().num_tiles();
  push.num_rows = source.matches->probe().rows();
  return push;
}

Result<void> ProbeWindows::draw(KernelContext& context, ProbeSource const& source, std::uint64_t first,
                                std::uint64_t count, VkExtent2D area) {
  auto push = push_of(source, first, count);
  push.target = vulkan::ImageShape{shape_.log2_width, area.height}.raster();
  vulkan::PointPass points;
  points.vertices = push.window_size;
  if (probe_ == Probe::instanced) {
    GARUDA_TRY_ASSIGN(auto const rows, rows_of(context, source, first, count));
    points.first_vertex = rows.begin;
    points.vertices = rows.end - rows.begin;
    points.instances = source.stack->layers_of(source.slice);
  }
  points.phase = vulkan::phase::kProbe;
  points.label = "probe";
  GARUDA_TRY_ASSIGN(points.pipeline, context.pipeline(pass_of(probe_, source), is_direct(source)));
  auto const bound = resources(source);
  points.resources = bound;
  points.push = vulkan::push_bytes(push);
  points.target = &result_fbo_;
  points.area = area;
  points.last_use = vk::use::kTransferRead;  // the copy of an earlier window
  points.next_use = vk::use::kTransferRead;
  return context.submissions().draw(points);
}

Result<void> ProbeWindows::write(KernelContext& context, ProbeSource const& source, std::uint64_t first,
                                 std::uint64_t count) {
  auto push = push_of(source, first, count);
  auto invocations = count;
  if (probe_ == Probe::instanced) {
    GARUDA_TRY_ASSIGN(auto const rows, rows_of(context, source, first, count));
    push.first_row = rows.begin;
    push.num_rows = rows.end;
    invocations = rows.end - rows.begin;
  }
  auto bound = resources(source);
  bound.push_back(vk::BoundResource::of(shaders::kBindPairs, pairs_));
  // The copy of an earlier window, before its pairs are replaced.
  GARUDA_TRY(context.order(vulkan::phase::kProbe, vk::use::kTransferRead, vk::use::kComputeWrite));
  return context.dispatch(vulkan::phase::kProbe, "probe", compute_pass_of(probe_, source), is_direct(source), bound,
                          vulkan::push_bytes(push), invocations);
}

Result<void> ProbeWindows::download_pairs(KernelContext& context, std::uint64_t count) {
  auto const bytes = count * sizeof(MatchedRows);
  auto& submissions = context.submissions();
  GARUDA_TRY_ASSIGN(auto* recorder, submissions.record(vulkan::phase::kDownload));
  recorder->barrier(pairs_, vk::use::kComputeWrite, vk::use::kTransferRead);
  recorder->copy(pairs_.view(0, bytes), staging_.view(0, bytes));
  recorder->barrier(staging_, vk::use::kTransferWrite, vk::use::kHostRead);
  submissions.count_download(vulkan::phase::kDownload, bytes);
  GARUDA_TRY(submissions.finish());
  return staging_.invalidate(0, bytes);
}

Result<void> ProbeWindows::download(KernelContext& context, VkExtent2D area) {
  auto const bytes = std::uint64_t{area.width} * area.height * sizeof(MatchedRows);
  auto& submissions = context.submissions();
  GARUDA_TRY_ASSIGN(auto* recorder, submissions.record(vulkan::phase::kDownload));
  recorder->copy(result_fbo_, 0, VkRect2D{{0, 0}, area}, staging_.view(0, bytes));
  recorder->barrier(staging_, vk::use::kTransferWrite, vk::use::kHostRead);
  submissions.count_download(vulkan::phase::kDownload, bytes);
  GARUDA_TRY(submissions.finish());
  return staging_.invalidate(0, bytes);
}

}  // namespace garuda::graphics
