#include "operators/graphics/join/slice_side.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <variant>

namespace garuda::graphics {
namespace {

std::span<std::byte const> bytes_of(contract::KeySpan const& keys) {
  return std::visit([](auto const& words) { return std::as_bytes(words); }, keys.words);
}

std::uint32_t bucket_of(std::uint32_t count) { return static_cast<std::uint32_t>(std::bit_width(count)) - 1; }

std::uint32_t sum_of(shaders::uint const* buckets, std::uint32_t first, std::uint32_t last) {
  std::uint32_t sum = 0;
  for (auto bucket = first; bucket < last; ++bucket) sum += buckets[bucket];
  return sum;
}

}  // namespace

Result<void> SliceSide::upload(KernelContext& context) {
  auto const source = bytes_of(*keys_);
  GARUDA_TRY_ASSIGN(buffer_, context.input(source, side_ == Side::left ? "left keys" : "right keys"));
  return {};
}

Result<void> SliceSide::draw_clashes(KernelContext& context) {
  auto const& image = address_->image;
  GARUDA_TRY_ASSIGN(clash_image_, context.image(VK_FORMAT_R32_SFLOAT, image, 1, "statistics image"));
  shaders::StatisticsPush const push{address_->address, image.raster(), rows()};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, buffer_)};
  vulkan::PointPass pass;
  pass.phase = vulkan::phase::kStatistics;
  pass.label = "statistics";
  GARUDA_TRY_ASSIGN(pass.pipeline, context.pipeline(JoinPass::statistics, address_->direct));
  pass.resources = resources;
  pass.push = vulkan::push_bytes(push);
  pass.target = &clash_image_;
  pass.area = {image.width(), image.height};
  pass.clear = vk::clear_float(0);
  pass.vertices = rows();
  pass.next_use = vk::use::kComputeSampled;
  return context.submissions().draw(pass);
}

Result<void> SliceSide::count_clashes(KernelContext& context) {
  GARUDA_TRY_ASSIGN(clash_counts_,
                    context.zeroed_buffer(address_->image.pixels() * 4, "clash counts", vulkan::phase::kStatistics));
  shaders::StatisticsPush const push{address_->address, address_->image.raster(), rows()};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, buffer_),
                             vk::BoundResource::of(shaders::kBindCounts, clash_counts_)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kStatistics, "statistics", JoinPass::statistics_count, address_->direct,
                              resources, vulkan::push_bytes(push), rows()));
  return context.order(vulkan::phase::kStatistics, vk::use::kComputeWrite, vk::use::kComputeRead);
}

Result<void> SliceSide::record_statistics(KernelContext& context) {
  GARUDA_EXPECTS(address_.has_value() && !has_recorded_statistics());
  bool const blend = context.limits().blend;
  GARUDA_TRY(blend ? draw_clashes(context) : count_clashes(context));
  GARUDA_TRY_ASSIGN(statistics_buffer_, context.zeroed_buffer(sizeof(shaders::ClashStatistics), "clash statistics",
                                                              vulkan::phase::kStatistics));
  auto const pixels = static_cast<std::uint32_t>(address_->image.pixels());
  shaders::ReducePush const push{address_->image.log2_width, pixels};
  std::array const resources{blend ? vk::BoundResource::of(shaders::kBindCountImage, clash_image_.layer_view())
                                   : vk::BoundResource::of(shaders::kBindCounts, clash_counts_),
                             vk::BoundResource::of(shaders::kBindStatistics, statistics_buffer_)};
  auto const pass = blend ? JoinPass::statistics_reduce_image : JoinPass::statistics_reduce_counts;
  auto const groups = (pixels + shaders::kReducePixels - 1) / shaders::kReducePixels;
  return context.dispatch(vulkan::phase::kStatistics, "reduce statistics", pass, false, resources,
                          vulkan::push_bytes(push), std::uint64_t{groups} * shaders::kGroupSize,
                          shaders::kReducePixels / shaders::kGroupSize);
}

Result<shaders::ClashStatistics const*> SliceSide::statistics(KernelContext& context) {
  if (!statistics_) {
    shaders::ClashStatistics read{};
    GARUDA_TRY(context.read_back(vulkan::phase::kStatistics, statistics_buffer_, 0,
                                 std::as_writable_bytes(std::span<shaders::ClashStatistics, 1>(&read, 1))));
    statistics_ = read;
  }
  return &*statistics_;
}

Result<HashStack> HashStack::create(KernelContext& context, SliceSide const& build, std::uint32_t num_images,
                                    std::uint64_t reserve_bytes) {
  HashStack stack;
  stack.build_ = &build;
  stack.num_images_ = num_images;
  GARUDA_TRY_ASSIGN(stack.flags_,
                    context.zeroed_buffer(std::uint64_t{build.rows()} * 4, "FlagArray", vulkan::phase::kBuild));
  auto const left = context.bytes_left();
  auto const budget = left > reserve_bytes ? left - reserve_bytes : 0;
  auto const& image = build.address()->image;
  auto const format = context.key_words() == 2 ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32G32_UINT;
  std::uint64_t layers = layers_per_slice(image, context.key_bits(), num_images, budget, context.limits());
  GARUDA_TRY_ASSIGN(stack.images_, context.halved_until_it_fits(layers, 1, [&](std::uint64_t n) {
    return context.image(format, image, static_cast<std::uint32_t>(n), "hash images");
  }));
  stack.layers_ = static_cast<std::uint32_t>(layers);
  return stack;
}

std::uint32_t HashStack::layers_of(std::uint32_t slice) const noexcept {
  return std::min(layers_, num_images_ - slice * layers_);
}

Result<void> HashStack::load(KernelContext& context, std::uint32_t slice) {
  GARUDA_EXPECTS(slice < num_slices());
  if (loaded_ == slice) return {};
  loaded_.reset();
  for (; grown_slices_ <= slice; ++grown_slices_) GARUDA_TRY(grow(context, grown_slices_));
  if (grown_slices_ != slice + 1 || loaded_ != slice) GARUDA_TRY(redraw(context, slice));
  loaded_ = slice;
  return {};
}

Result<void> HashStack::grow(KernelContext& context, std::uint32_t slice) {
  for (std::uint32_t layer = 0; layer < layers_of(slice); ++layer) {
    GARUDA_TRY(draw_image(context, layer, 0));
    // The last image of a stack of one slice has no later pass that looks at its rows' flags.
    auto const image = slice * layers_ + layer;
    if (num_slices() > 1 || image + 1 < num_images_) GARUDA_TRY(mark_winners(context, layer, image + 1));
  }
  loaded_ = slice;
  return {};
}

Result<void> HashStack::redraw(KernelContext& context, std::uint32_t slice) {
  for (std::uint32_t layer = 0; layer < layers_of(slice); ++layer) {
    GARUDA_TRY(draw_image(context, layer, slice * layers_ + layer + 1));
  }
  return {};
}

Result<void> HashStack::draw_image(KernelContext& context, std::uint32_t layer, std::uint32_t flag) {
  auto const& [direct, address, image] = *build_->address();
  shaders::BuildPush const push{address, image.raster(), build_->rows(), flag};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, build_->keys()),
                             vk::BoundResource::of(shaders::kBindFlags, flags_)};
  vulkan::PointPass pass;
  pass.phase = vulkan::phase::kBuild;
  pass.label = "build H_i";
  GARUDA_TRY_ASSIGN(pass.pipeline, context.pipeline(JoinPass::build, direct));
  pass.resources = resources;
  pass.push = vulkan::push_bytes(push);
  pass.target = &images_;
  pass.layer = layer;
  pass.area = {image.width(), image.height};
  pass.clear = vk::clear_uint(0);
  pass.vertices = build_->rows();
  // A slice that was here before has been read by count, probe and mark passes.
  pass.last_use = vk::use::kVertexSampled | vk::use::kComputeSampled;
  pass.next_use = vk::use::kVertexSampled | vk::use::kComputeSampled;
  return context.submissions().draw(pass);
}

Result<void> HashStack::mark_winners(KernelContext& context, std::uint32_t layer, std::uint32_t flag) {
  auto const& image = build_->address()->image;
  shaders::MarkWinnersPush const push{image.log2_width, static_cast<std::uint32_t>(image.pixels()), flag};
  std::array const resources{vk::BoundResource::of(shaders::kBindFlags, flags_),
                             vk::BoundResource::of(shaders::kBindLayers, images_.layer_view(layer))};
  // Flags that the image's vertices read, before they change.
  GARUDA_TRY(context.order(vulkan::phase::kBuild, vk::use::kVertexRead, vk::use::kComputeWrite));
  GARUDA_TRY(context.dispatch(vulkan::phase::kBuild, "FlagArray", JoinPass::mark_winners, false, resources,
                              vulkan::push_bytes(push), image.pixels()));
  // Flags, before the vertices of the next image read them.
  return context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kVertexRead);
}

Result<RunTable> RunTable::create(KernelContext& context, SliceSide const& build,
                                  shaders::ClashStatistics const& clashes) {
  RunTable table;
  table.build_ = &build;
  table.clashes_ = clashes;
  auto const& address = *build.address();
  GARUDA_TRY_ASSIGN(table.begins_, PrefixSum::create(context, address.address.num_pixels, "run offsets"));
  bool const blend = static_cast<bool>(build.clash_image());
  std::array const counts{blend ? vk::BoundResource::of(shaders::kBindCountImage, build.clash_image().layer_view())
                                : vk::BoundResource::of(shaders::kBindCounts, build.clash_counts())};
  auto const scan = blend ? JoinPass::scan_clash_image : JoinPass::scan_clash_counts;
  GARUDA_TRY_ASSIGN(auto const pipelines, context.scan_pipelines(scan));
  GARUDA_TRY(table.begins_.record(context, vulkan::phase::kBuild, pipelines, counts, address.image.log2_width));
  return table;
}

std::vector<vk::BoundResource> RunTable::lookup() const {
  std::vector<vk::BoundResource> resources{vk::BoundResource::of(shaders::kBindRunOffsets, begins_.offsets()),
                                           vk::BoundResource::of(shaders::kBindRunBases, begins_.tile_bases())};
  if (!direct()) {
    GARUDA_EXPECTS(placed_);
    resources.push_back(vk::BoundResource::of(shaders::kBindRunKeys, keys_));
  }
  return resources;
}

std::vector<vk::BoundResource> RunTable::entries() const {
  std::vector<vk::BoundResource> resources{vk::BoundResource::of(shaders::kBindRunRows, rows_)};
  if (!direct()) resources.push_back(vk::BoundResource::of(shaders::kBindRunKeys, keys_));
  return resources;
}

Result<void> RunTable::place(KernelContext& context) {
  if (placed_) return {};
  GARUDA_TRY(place_rows(context));
  if (clashes_.max_clashes > 1) {
    GARUDA_TRY(create_lists(context));
    GARUDA_TRY(sort_short_runs(context));
    GARUDA_TRY(sort_medium_runs(context));
    GARUDA_TRY(sort_long_runs(context));
  }
  placed_ = true;
  // Entries, before count and probe passes read them.
  return context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeRead);
}

Result<void> RunTable::place_rows(KernelContext& context) {
  auto const& address = build_->address()->address;
  auto const rows = std::uint64_t{build_->rows()};
  GARUDA_TRY_ASSIGN(rows_, context.buffer(rows * 4, "run rows"));
  if (!direct()) {
    GARUDA_TRY_ASSIGN(keys_, context.buffer(rows * 4 * context.key_words(), "run keys"));
  }
  GARUDA_TRY_ASSIGN(cursors_,
                    context.zeroed_buffer(std::uint64_t{address.num_pixels} * 4, "run cursors", vulkan::phase::kBuild));
  shaders::RunPush const push{address, build_->rows(), address.num_pixels};
  auto resources = entries();
  resources.push_back(vk::BoundResource::of(shaders::kBindKeys, build_->keys()));
  resources.push_back(vk::BoundResource::of(shaders::kBindRunOffsets, begins_.offsets()));
  resources.push_back(vk::BoundResource::of(shaders::kBindRunBases, begins_.tile_bases()));
  resources.push_back(vk::BoundResource::of(shaders::kBindRunCursors, cursors_));
  GARUDA_TRY(context.dispatch(vulkan::phase::kBuild, "place rows", JoinPass::place_rows, direct(), resources,
                              vulkan::push_bytes(push), rows));
  // Entries in any order, before they are sorted.
  return context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kComputeWrite);
}

Result<void> RunTable::create_lists(KernelContext& context) {
  auto const medium = bucket_of(shaders::kMediumRun);
  auto const first_long = bucket_of(shaders::kLongRun);
  lists_.num_medium = sum_of(clashes_.pixels, medium, first_long);
  lists_.num_long = sum_of(clashes_.pixels, first_long, shaders::kClashBuckets);
  auto const long_rows = sum_of(clashes_.rows, first_long, shaders::kClashBuckets);
  lists_.num_blocks = long_rows / shaders::kBlockRows + lists_.num_long;
  GARUDA_TRY_ASSIGN(lists_.medium, context.buffer(std::uint64_t{lists_.num_medium} * 16, "medium runs"));
  GARUDA_TRY_ASSIGN(lists_.long_runs, context.buffer(std::uint64_t{lists_.num_long} * 8, "long runs"));
  GARUDA_TRY_ASSIGN(lists_.blocks, context.zeroed_buffer(std::uint64_t{lists_.num_blocks} * 16, "blocks of runs",
                                                         vulkan::phase::kBuild));
  GARUDA_TRY_ASSIGN(lists_.sizes, context.zeroed_buffer(3 * 4, "list sizes", vulkan::phase::kBuild));
  return {};
}

Result<void> RunTable::sort_short_runs(KernelContext& context) {
  auto const& address = build_->address()->address;
  shaders::RunPush const push{address, build_->rows(), address.num_pixels};
  auto resources = entries();
  resources.push_back(vk::BoundResource::of(shaders::kBindRunOffsets, begins_.offsets()));
  resources.push_back(vk::BoundResource::of(shaders::kBindRunBases, begins_.tile_bases()));
  resources.push_back(vk::BoundResource::of(shaders::kBindRunLists, lists_.medium));
  resources.push_back(vk::BoundResource::of(shaders::kBindListSizes, lists_.sizes));
  resources.push_back(vk::BoundResource::of(shaders::kBindLongRuns, lists_.long_runs));
  GARUDA_TRY(context.dispatch(vulkan::phase::kBuild, "sort short runs", JoinPass::sort_short_runs, direct(), resources,
                              vulkan::push_bytes(push), address.num_pixels));
  // Lists of the longer runs, before they are worked on.
  return context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kComputeWrite);
}

Result<void> RunTable::sort_step(KernelContext& context, JoinPass pass, vk::Buffer const& list,
                                 shaders::SortPush const& push) {
  auto resources = entries();
  resources.push_back(vk::BoundResource::of(shaders::kBindRunLists, list));
  GARUDA_TRY(context.dispatch(vulkan::phase::kBuild, pass == JoinPass::sort_blocks ? "sort blocks" : "merge blocks",
                              pass, direct(), resources, vulkan::push_bytes(push),
                              std::uint64_t{push.num_entries} * shaders::kGroupSize));
  // Entries of one step, before the next one compares others.
  return context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kComputeWrite);
}

Result<void> RunTable::sort_medium_runs(KernelContext& context) {
  if (lists_.num_medium == 0) return {};
  return sort_step(context, JoinPass::sort_blocks, lists_.medium, {0, lists_.num_medium, 0, 0});
}

Result<void> RunTable::sort_long_runs(KernelContext& context) {
  if (lists_.num_long == 0) return {};
  shaders::SortPush const expand{0, lists_.num_long, 0, 0};
  std::array const resources{vk::BoundResource::of(shaders::kBindRunLists, lists_.blocks),
                             vk::BoundResource::of(shaders::kBindListSizes, lists_.sizes),
                             vk::BoundResource::of(shaders::kBindLongRuns, lists_.long_runs)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kBuild, "cut long runs", JoinPass::expand_blocks, false, resources,
                              vulkan::push_bytes(expand), std::uint64_t{lists_.num_long} * shaders::kGroupSize));
  GARUDA_TRY(context.order(vulkan::phase::kBuild, vk::use::kComputeWrite, vk::use::kComputeWrite));

  auto const blocks = lists_.num_blocks;
  GARUDA_TRY(sort_step(context, JoinPass::sort_blocks, lists_.blocks, {0, blocks, 0, 0}));
  // At most 14 stages of at most 14 wide steps: the longest run has 2^24 entries, a block 2^10.
  auto const longest = std::bit_ceil(std::uint64_t{clashes_.max_clashes});
  for (std::uint32_t stage = 2 * shaders::kBlockRows; stage <= longest; stage *= 2) {
    GARUDA_TRY(sort_step(context, JoinPass::merge_blocks, lists_.blocks, {0, blocks, stage, 0}));
    for (auto stride = stage / 4; stride >= shaders::kBlockRows; stride /= 2) {
      GARUDA_TRY(sort_step(context, JoinPass::merge_blocks, lists_.blocks, {0, blocks, stage, stride}));
    }
    GARUDA_TRY(sort_step(context, JoinPass::sort_blocks, lists_.blocks, {0, blocks, stage, 0}));
  }
  return {};
}

}  // namespace garuda::graphics
