#include "operators/graphics/group_by/group_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "shaders/embedded.hpp"
#include "shaders/shared/group_by_layout.h"

namespace garuda::graphics {
namespace {

using namespace shaders;

/// Bits for the constants that a pipeline is specialised by.
enum By : std::uint8_t {
  kByNothing = 0,
  kByKeys = 1,         ///< words of packed keys, and kind of addresses
  kByList = 2,         ///< all rows, or a list
  kByAttachments = 4,  ///< colour attachments
  kByValues = 8,       ///< kind of the values
  kByNulls = 16,
  kByFloats = 32,  ///< kinds of values: floats only
};

enum class Target : std::uint8_t {
  none,      ///< a compute pass
  key,       ///< R32_UINT, R32G32_UINT or RGBA32_UINT by what the pixel holds
  row,       ///< R32_UINT
  words,     ///< RGBA32_UINT, as many as attachments
  count,     ///< R32_SFLOAT, added
  limbs,     ///< two RGBA32_SFLOAT, added
  spans,     ///< two RGBA32_SFLOAT, greatest
  extremes,  ///< R32G32_SFLOAT, greatest
};

constexpr std::uint64_t kTextures = bindings(kBindHashImage, kBindAccumulators);

struct PassRow {
  GroupPass pass;
  std::string_view entry;  ///< of the vertex or compute shader
  std::uint8_t by;
  Target target;
  std::uint64_t bindings;
  std::uint32_t push_bytes;
};

constexpr auto kPrefix = bindings(kBindOffsets, kBindTileBases);
constexpr auto kMapped = bindings(kBindRows, kBindHashImage, kBindMap, kBindHead, kBindLost);
constexpr auto kColumn = bindings(kBindRows, kBindIds, kBindValues, kBindValidity);
constexpr auto kSummed = kColumn | bindings(kBindSpans, kBindFirstPixels);

// The passes, in the order of GroupPass.
constexpr std::array<PassRow, kGroupPasses> kPasses{{
    {GroupPass::hash_packed, "group_by/hash_packed.vert", kByKeys | kByList, Target::key,
     bindings(kBindKeys, kBindRows), sizeof(HashPush)},
    {GroupPass::hash_words, "group_by/hash_words.vert", kByList | kByAttachments, Target::words,
     bindings(kBindWords, kBindRows), sizeof(HashPush)},
    {GroupPass::hash_rowid, "group_by/hash_words.vert", kByList, Target::row, bindings(kBindWords, kBindRows),
     sizeof(HashPush)},
    {GroupPass::map_packed, "group_by/map_rows.comp:PACKED", kByKeys | kByList, Target::none,
     bindings(kBindKeys) | kMapped, sizeof(HashPush)},
    {GroupPass::map_words, "group_by/map_rows.comp:WORDS", kByList, Target::none, bindings(kBindWords) | kMapped,
     sizeof(HashPush)},
    {GroupPass::map_rowid, "group_by/map_rows.comp:ROWID", kByList, Target::none, bindings(kBindWords) | kMapped,
     sizeof(HashPush)},
    {GroupPass::scan_counts, "join/scan_tiles.comp:CLASH_BUFFER", kByNothing, Target::none,
     bindings(kBindCounts) | kPrefix, sizeof(ScanPush)},
    {GroupPass::scan_bases, "join/scan_bases.comp", kByNothing, Target::none, bindings(kBindTileBases),
     sizeof(ScanPush)},
    {GroupPass::compact_rows, "group_by/compact_rows.comp", kByList, Target::none,
     bindings(kBindRows, kBindLost, kBindRowsOut) | kPrefix, sizeof(RowsPush)},
    {GroupPass::number_rows, "group_by/number_rows.comp", kByNothing, Target::none,
     bindings(kBindMap, kBindIds, kBindHeadRows) | kPrefix, sizeof(RowsPush)},
    {GroupPass::count, "group_by/count.vert", kByList | kByNulls, Target::count,
     bindings(kBindRows, kBindIds, kBindValidity), sizeof(GroupsPush)},
    {GroupPass::fold_counts, "group_by/fold_counts.comp", kByNothing, Target::none,
     bindings(kBindAccumulators, kBindGroupRows), sizeof(GroupsPush)},
    {GroupPass::spans, "group_by/spans.vert", kByList | kByValues | kByFloats | kByNulls, Target::spans, kColumn,
     sizeof(GroupsPush)},
    {GroupPass::fold_spans, "group_by/fold_spans.comp", kByNothing, Target::none,
     bindings(kBindAccumulators, kBindSpans), sizeof(GroupsPush)},
    {GroupPass::allot_pixels, "group_by/allot_pixels.comp", kByNothing, Target::none,
     bindings(kBindGroupRows, kBindSpans, kBindCounts), sizeof(AllotPush)},
    {GroupPass::place_pixels, "group_by/place_pixels.comp", kByNothing, Target::none,
     bindings(kBindFirstPixels) | kPrefix, sizeof(AllotPush)},
    {GroupPass::sum, "group_by/sum.vert", kByList | kByValues | kByNulls, Target::limbs, kSummed, sizeof(SumPush)},
    {GroupPass::fold_sums, "group_by/fold_sums.comp", kByValues, Target::none,
     bindings(kBindAccumulators, kBindSpans, kBindFirstPixels, kBindSums), sizeof(SumPush)},
    {GroupPass::extremes, "group_by/extremes.vert", kByList | kByValues | kByNulls, Target::extremes,
     kColumn | bindings(kBindPieces), sizeof(ExtremesPush)},
    {GroupPass::fold_extremes, "group_by/fold_extremes.comp", kByValues, Target::none,
     bindings(kBindAccumulators, kBindPieces), sizeof(ExtremesPush)},
}};

static_assert(are_in_order(kPasses));
static_assert(static_cast<std::uint32_t>(contract::ValueKind::float64) == kKindFloat64 &&
              static_cast<std::uint32_t>(contract::ValueKind::int128) == kKindInt128);

std::vector<vk::SpecConstant> spec_constants(std::uint8_t by, GroupPassKind const& kind) {
  std::vector<vk::SpecConstant> constants;
  if ((by & kByKeys) != 0) {
    constants.push_back({kSpecKeyWords, kind.key_words});
    constants.push_back({kSpecDirect, kind.direct ? 1U : 0U});
  }
  if ((by & kByList) != 0) constants.push_back({kSpecListed, kind.listed ? 1U : 0U});
  if ((by & kByValues) != 0) constants.push_back({kSpecValueKind, static_cast<std::uint32_t>(kind.values)});
  if ((by & kByNulls) != 0) constants.push_back({kSpecNulls, kind.nulls ? 1U : 0U});
  return constants;
}

VkFormat key_format(GroupPassKind const& kind) {
  if (kind.direct) return VK_FORMAT_R32_UINT;
  return kind.key_words == 2 ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32G32_UINT;
}

std::vector<vk::ColorTarget> color_targets(Target target, GroupPassKind const& kind) {
  constexpr auto kFloats = VK_FORMAT_R32G32B32A32_SFLOAT;
  switch (target) {
    case Target::key:
      return {{key_format(kind), vk::Blend::none}};
    case Target::row:
      return {{VK_FORMAT_R32_UINT, vk::Blend::none}};
    case Target::words:
      return {kind.attachments, {VK_FORMAT_R32G32B32A32_UINT, vk::Blend::none}};
    case Target::count:
      return {{VK_FORMAT_R32_SFLOAT, vk::Blend::add}};
    case Target::limbs:
      return {2, {kFloats, vk::Blend::add}};
    case Target::spans:
      return {2, {kFloats, vk::Blend::max}};
    case Target::extremes:
      return {{VK_FORMAT_R32G32_SFLOAT, vk::Blend::max}};
    case Target::none:
      break;
  }
  return {};
}

std::string fragment_entry(Target target, GroupPassKind const& kind) {
  switch (target) {
    case Target::words:
      return fmt::format("group_by/key_words.frag:ATTACHMENTS={}", kind.attachments);
    case Target::count:
      return "points/color_float.frag";
    case Target::limbs:
    case Target::spans:
      return "points/color_vec4_pair.frag";
    case Target::extremes:
      return "points/color_vec4.frag";
    default:
      return "points/color_uint.frag";
  }
}

/// The kinds that a pass is specialised by, each once.
std::vector<GroupPassKind> kinds_of(std::uint8_t by, std::uint32_t max_attachments) {
  std::vector<GroupPassKind> kinds{GroupPassKind{}};
  auto const multiply = [&](std::uint32_t first, std::uint32_t last, auto set) {
    std::vector<GroupPassKind> all;
    for (auto const& kind : kinds) {
      for (auto value = first; value <= last; ++value) set(all.emplace_back(kind), value);
    }
    kinds = std::move(all);
  };
  if ((by & kByKeys) != 0) {
    multiply(1, 2, [](GroupPassKind& kind, std::uint32_t value) { kind.key_words = value; });
    multiply(0, 1, [](GroupPassKind& kind, std::uint32_t value) { kind.direct = value == 1; });
  }
  if ((by & kByList) != 0) {
    multiply(0, 1, [](GroupPassKind& kind, std::uint32_t value) { kind.listed = value == 1; });
  }
  if ((by & kByAttachments) != 0) {
    multiply(1, max_attachments, [](GroupPassKind& kind, std::uint32_t value) { kind.attachments = value; });
  }
  if ((by & kByValues) != 0) {
    multiply((by & kByFloats) != 0 ? kKindFloat32 : kKindInt32, kKindFloat64,
             [](GroupPassKind& kind, std::uint32_t value) { kind.values = static_cast<contract::ValueKind>(value); });
  }
  if ((by & kByNulls) != 0) {
    multiply(0, 1, [](GroupPassKind& kind, std::uint32_t value) { kind.nulls = value == 1; });
  }
  return kinds;
}

}  // namespace

PipelineSpec group_by_pipeline(GroupPass pass, GroupPassKind const& kind) {
  auto const& row = kPasses.at(static_cast<std::size_t>(pass));
  PassSpec spec{row.entry, row.bindings, kTextures, row.push_bytes, spec_constants(row.by, kind)};
  if (row.target == Target::none) return pipeline_spec(spec);
  auto const fragment = fragment_entry(row.target, kind);
  spec.fragment = fragment;
  spec.targets = color_targets(row.target, kind);
  return pipeline_spec(spec);
}

std::vector<PipelineSpec> graphics_group_by_pipelines(std::uint32_t max_attachments) {
  std::vector<PipelineSpec> specs;
  for (auto const& row : kPasses) {
    for (auto const& kind : kinds_of(row.by, std::min(max_attachments, kMaxKeyAttachments))) {
      specs.push_back(group_by_pipeline(row.pass, kind));
    }
  }
  return specs;
}

Result<GroupTarget> GroupTarget::create(GroupContext& context, vulkan::DeviceGroups const& groups, VkFormat format,
                                        std::uint32_t layers, std::uint32_t folded_bytes) {
  GroupTarget target;
  target.layers_ = layers;
  auto const format_bytes = format == VK_FORMAT_R32G32B32A32_SFLOAT ? 16U : format == VK_FORMAT_R32G32_SFLOAT ? 8U : 4U;
  auto const texel_bytes = format_bytes * layers;
  target.lanes_ = group_lanes(groups.num_rows, groups.num_groups, texel_bytes, context.limits());
  auto const group_bytes = std::uint64_t{texel_bytes} * target.lanes_;
  // Folding takes at least the image's own share, so that one group always fits.
  auto const pixels = std::uint64_t{groups.num_groups} * target.lanes_;
  auto const at_once = context.pixels_at_once(pixels, (group_bytes + folded_bytes) / target.lanes_ + 1,
                                              std::max<std::uint64_t>(folded_bytes, 1));
  auto groups_at_once = std::max<std::uint64_t>(at_once / target.lanes_, 1);
  GARUDA_TRY_ASSIGN(target.image_, context.halved_until_it_fits(groups_at_once, 1, [&](std::uint64_t n) {
    target.shape_ = vulkan::image_for(n * target.lanes_, context.limits().accumulator_extent);
    return context.image(format, target.shape_, layers, "accumulators");
  }));
  target.groups_at_once_ = static_cast<std::uint32_t>(groups_at_once);
  context.submissions().max_counter("accumulator_pixels", pixels);
  return target;
}

shaders::GroupsPush GroupTarget::push(vulkan::DeviceGroups const& groups, GroupRange range) const noexcept {
  return {shape_.raster(), groups.num_rows, range.first, range.size, lanes_};
}

Result<void> GroupTarget::draw(GroupContext& context, char const* phase, char const* label,
                               vk::Pipeline const& pipeline, std::span<vk::BoundResource const> resources,
                               std::span<std::byte const> push, vulkan::DeviceGroups const& groups,
                               VkClearColorValue clear) {
  vulkan::PointPass pass;
  pass.phase = phase;
  pass.label = label;
  pass.pipeline = &pipeline;
  pass.resources = resources;
  pass.push = push;
  pass.target = &image_;
  pass.attachments = layers_;
  pass.area = {shape_.width(), shape_.height};
  pass.clear = clear;
  pass.vertices = groups.num_drawn;
  pass.last_use = vk::use::kComputeSampled;  // the fold of an earlier range
  pass.next_use = vk::use::kComputeSampled;
  return context.draw(pass);
}

Result<void> GroupContext::dispatch(char const* phase, char const* label, GroupPass pass, GroupPassKind const& kind,
                                    std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                    std::uint64_t invocations) {
  GARUDA_TRY_ASSIGN(auto const* compiled, pipeline(pass, kind));
  return vulkan::PassContext::dispatch(phase, label, *compiled, resources, push, invocations);
}

Result<void> GroupContext::draw(vulkan::PointPass const& pass) {
  submissions().add_counter("passes", 1);
  submissions().max_counter("attachments", pass.attachments);
  return submissions().draw(pass);
}

Result<void> GroupContext::prefix_sum(PrefixSum& sum, char const* phase, vk::Buffer const& counts) {
  ScanPipelines pipelines;
  GARUDA_TRY_ASSIGN(pipelines.scan, pipeline(GroupPass::scan_counts));
  GARUDA_TRY_ASSIGN(pipelines.bases, pipeline(GroupPass::scan_bases));
  // Counts before they are summed up, readers of the earlier sum before it is replaced.
  GARUDA_TRY(order(phase, vk::use::kVertexRead | vk::use::kComputeWrite, vk::use::kComputeWrite));
  std::array const resources{vk::BoundResource::of(shaders::kBindCounts, counts)};
  return sum.record(*this, phase, pipelines, resources, 0);
}

std::uint64_t GroupContext::pixels_at_once(std::uint64_t pixels, std::uint64_t bytes_each,
                                           std::uint64_t buffer_bytes_each) const {
  auto const largest_image = vulkan::most_texels(limits_.accumulator_extent);
  // A quarter is left for the unfilled last row of the image, alignment and the caller's other buffers.
  auto const affordable = bytes_left() / 4 * 3 / bytes_each;
  auto const most = std::min({pixels, largest_image, affordable, limits_.max_buffer_bytes / buffer_bytes_each});
  return std::max<std::uint64_t>(most, 1);
}

std::vector<vk::BoundResource> SliceColumn::resources(vulkan::DeviceGroups const& groups) const {
  // A variant that reads no list, no values or no validity is bound to a buffer that is there.
  return {vk::BoundResource::of(shaders::kBindIds, groups.ids),
          vk::BoundResource::of(shaders::kBindRows, groups.is_listed ? groups.rows : groups.ids),
          vk::BoundResource::of(shaders::kBindValues, values ? values : groups.ids),
          vk::BoundResource::of(shaders::kBindValidity, validity ? validity : groups.ids)};
}

}  // namespace garuda::graphics
