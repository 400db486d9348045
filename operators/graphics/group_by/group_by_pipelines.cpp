#include "operators/graphics/group_by/group_by_pipelines.hpp"

#include <fmt/format.h>

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

template <class... Bindings>
constexpr std::uint64_t bindings(Bindings... binding) {
  return ((std::uint64_t{1} << binding) | ...);
}

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
constexpr auto kColumn = bindings(kBindIds, kBindValues, kBindValidity);
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
    {GroupPass::count, "group_by/count.vert", kByNulls, Target::count, bindings(kBindIds, kBindValidity),
     sizeof(GroupsPush)},
    {GroupPass::fold_counts, "group_by/fold_counts.comp", kByNothing, Target::none,
     bindings(kBindAccumulators, kBindGroupRows), sizeof(GroupsPush)},
    {GroupPass::spans, "group_by/spans.vert", kByValues | kByFloats | kByNulls, Target::spans, kColumn,
     sizeof(GroupsPush)},
    {GroupPass::fold_spans, "group_by/fold_spans.comp", kByNothing, Target::none,
     bindings(kBindAccumulators, kBindSpans), sizeof(GroupsPush)},
    {GroupPass::allot_pixels, "group_by/allot_pixels.comp", kByNothing, Target::none,
     bindings(kBindGroupRows, kBindSpans, kBindCounts), sizeof(AllotPush)},
    {GroupPass::place_pixels, "group_by/place_pixels.comp", kByNothing, Target::none,
     bindings(kBindFirstPixels) | kPrefix, sizeof(AllotPush)},
    {GroupPass::sum, "group_by/sum.vert", kByValues | kByNulls, Target::limbs, kSummed, sizeof(SumPush)},
    {GroupPass::fold_sums, "group_by/fold_sums.comp", kByValues, Target::none,
     bindings(kBindAccumulators, kBindSpans, kBindFirstPixels, kBindSums), sizeof(SumPush)},
    {GroupPass::extremes, "group_by/extremes.vert", kByValues | kByNulls, Target::extremes,
     kColumn | bindings(kBindPieces), sizeof(ExtremesPush)},
    {GroupPass::fold_extremes, "group_by/fold_extremes.comp", kByValues, Target::none,
     bindings(kBindAccumulators, kBindPieces), sizeof(ExtremesPush)},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kGroupPasses; ++i) {
    if (kPasses[i].pass != static_cast<GroupPass>(i)) return false;
  }
  return true;
}
static_assert(in_order());
static_assert(static_cast<std::uint32_t>(contract::ValueKind::float64) == kKindFloat64 &&
              static_cast<std::uint32_t>(contract::ValueKind::int128) == kKindInt128);

std::vector<vk::BindingSpec> binding_specs(std::uint64_t set) {
  std::vector<vk::BindingSpec> specs;
  for (std::uint32_t binding = 0; binding < 64; ++binding) {
    if ((set >> binding & 1U) == 0) continue;
    bool const texture = (kTextures >> binding & 1U) != 0;
    specs.push_back({binding, texture ? vk::BindingKind::sampled_image : vk::BindingKind::storage_buffer});
  }
  return specs;
}

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
  if (row.target == Target::none) {
    vk::ComputePipelineSpec spec;
    spec.compute = shaders::get(row.entry);
    spec.constants = spec_constants(row.by, kind);
    spec.bindings = binding_specs(row.bindings);
    spec.push_bytes = row.push_bytes;
    return spec;
  }
  vk::GraphicsPipelineSpec spec;
  spec.vertex = shaders::get(row.entry);
  spec.fragment = shaders::get(fragment_entry(row.target, kind));
  spec.constants = spec_constants(row.by, kind);
  spec.bindings = binding_specs(row.bindings);
  spec.push_bytes = row.push_bytes;
  spec.targets = color_targets(row.target, kind);
  return spec;
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

Result<vk::Pipeline const*> get_pipeline(vk::PipelineStore& store, GroupPass pass, GroupPassKind const& kind) {
  auto const spec = group_by_pipeline(pass, kind);
  return std::visit([&](auto const& concrete) { return store.compile(concrete); }, spec);
}

}  // namespace garuda::graphics
