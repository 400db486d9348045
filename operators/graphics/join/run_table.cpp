#include "operators/graphics/join/run_table.hpp"

#include <array>
#include <bit>

namespace garuda::graphics {
namespace {

std::uint32_t bucket_of(std::uint32_t count) { return static_cast<std::uint32_t>(std::bit_width(count)) - 1; }

std::uint32_t sum_of(shaders::uint const* buckets, std::uint32_t first, std::uint32_t last) {
  std::uint32_t sum = 0;
  for (auto bucket = first; bucket < last; ++bucket) sum += buckets[bucket];
  return sum;
}

}  // namespace

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
