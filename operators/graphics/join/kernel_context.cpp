#include "operators/graphics/join/kernel_context.hpp"

#include <array>
#include <bit>
#include <string>
#include <string_view>

#include "shaders/embedded.hpp"
#include "shaders/shared/join_layout.h"

namespace garuda::graphics {
namespace {

using namespace shaders;

/// The constants that a pipeline is specialised by.
enum class JoinBy : std::uint8_t {
  nothing,
  keys,           ///< width of the keys, and kind of addresses
  keys_and_runs,  ///< the same, and for hash addresses the variant HASH_ADDRESS, which binds the runs' keys
  entries,        ///< width of the keys, and that variant
};

enum class JoinTarget : std::uint8_t {
  none,    ///< a compute pass
  sums,    ///< R32_SFLOAT, added
  texels,  ///< of hash images, overwritten
  pairs,   ///< R32G32_UINT, overwritten
};

constexpr std::uint64_t kJoinTextures = bindings(kBindLayers, kBindCountImage);

struct JoinPassRow {
  JoinPass pass;
  std::string_view entry;  ///< of the vertex or compute shader
  JoinBy by;
  JoinTarget target;
  std::uint64_t bindings;
  std::uint32_t push_bytes;
};

constexpr auto kSum = bindings(kBindOffsets, kBindTileBases);
constexpr auto kRuns = bindings(kBindRunOffsets, kBindRunBases);
constexpr auto kSort = bindings(kBindRunRows, kBindRunLists);

// The passes, in the order of JoinPass.
constexpr std::array<JoinPassRow, kJoinPasses> kJoinPassRows{{
    {JoinPass::statistics, "join/statistics.vert", JoinBy::keys, JoinTarget::sums, bindings(kBindKeys),
     sizeof(StatisticsPush)},
    {JoinPass::statistics_count, "join/statistics_count.comp", JoinBy::keys, JoinTarget::none,
     bindings(kBindKeys, kBindCounts), sizeof(StatisticsPush)},
    {JoinPass::statistics_reduce_image, "join/statistics_reduce.comp:COUNTS_IN_IMAGE", JoinBy::nothing,
     JoinTarget::none, bindings(kBindCountImage, kBindStatistics), sizeof(ReducePush)},
    {JoinPass::statistics_reduce_counts, "join/statistics_reduce.comp:COUNTS_IN_BUFFER", JoinBy::nothing,
     JoinTarget::none, bindings(kBindCounts, kBindStatistics), sizeof(ReducePush)},
    {JoinPass::build, "join/build.vert", JoinBy::keys, JoinTarget::texels, bindings(kBindKeys, kBindFlags),
     sizeof(BuildPush)},
    {JoinPass::mark_winners, "join/mark_winners.comp", JoinBy::nothing, JoinTarget::none,
     bindings(kBindFlags, kBindLayers), sizeof(MarkWinnersPush)},
    {JoinPass::count_stack, "join/count_stack.vert", JoinBy::keys, JoinTarget::sums, bindings(kBindKeys, kBindLayers),
     sizeof(CountPush)},
    {JoinPass::count_stack_compute, "join/count_stack.comp", JoinBy::keys, JoinTarget::none,
     bindings(kBindKeys, kBindLayers, kBindMatches), sizeof(CountPush)},
    {JoinPass::count_runs, "join/count_runs.vert", JoinBy::keys_and_runs, JoinTarget::pairs,
     bindings(kBindKeys) | kRuns, sizeof(CountPush)},
    {JoinPass::count_runs_compute, "join/count_runs.comp", JoinBy::keys_and_runs, JoinTarget::none,
     bindings(kBindKeys, kBindMatches, kBindCounts) | kRuns, sizeof(CountPush)},
    {JoinPass::scan_clash_image, "join/scan_tiles.comp:CLASH_IMAGE", JoinBy::nothing, JoinTarget::none,
     bindings(kBindCountImage) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_clash_counts, "join/scan_tiles.comp:CLASH_BUFFER", JoinBy::nothing, JoinTarget::none,
     bindings(kBindCounts) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_layer_image, "join/scan_tiles.comp:LAYER_SET_IMAGE", JoinBy::nothing, JoinTarget::none,
     bindings(kBindCountImage, kBindMatches, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_layer_sets, "join/scan_tiles.comp:LAYER_SET_BUFFER", JoinBy::nothing, JoinTarget::none,
     bindings(kBindMatches, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_run_image, "join/scan_tiles.comp:RUN_IMAGE", JoinBy::nothing, JoinTarget::none,
     bindings(kBindCountImage, kBindMatches, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_run_counts, "join/scan_tiles.comp:RUN_COUNTS", JoinBy::nothing, JoinTarget::none,
     bindings(kBindCounts, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_bases, "join/scan_bases.comp", JoinBy::nothing, JoinTarget::none, bindings(kBindTileBases),
     sizeof(ScanPush)},
    {JoinPass::place_rows, "join/place_rows.comp", JoinBy::keys_and_runs, JoinTarget::none,
     bindings(kBindKeys, kBindRunRows, kBindRunCursors) | kRuns, sizeof(RunPush)},
    {JoinPass::sort_short_runs, "join/sort_short_runs.comp", JoinBy::entries, JoinTarget::none,
     bindings(kBindListSizes, kBindLongRuns) | kRuns | kSort, sizeof(RunPush)},
    {JoinPass::expand_blocks, "join/expand_blocks.comp", JoinBy::nothing, JoinTarget::none,
     bindings(kBindRunLists, kBindListSizes, kBindLongRuns), sizeof(SortPush)},
    {JoinPass::sort_blocks, "join/sort_blocks.comp", JoinBy::entries, JoinTarget::none, kSort, sizeof(SortPush)},
    {JoinPass::merge_blocks, "join/merge_blocks.comp", JoinBy::entries, JoinTarget::none, kSort, sizeof(SortPush)},
    {JoinPass::probe_instanced, "join/probe_instanced.vert", JoinBy::keys, JoinTarget::pairs,
     bindings(kBindKeys, kBindLayers, kBindMatches) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_stack, "join/probe_output.vert:STACK", JoinBy::keys, JoinTarget::pairs,
     bindings(kBindKeys, kBindLayers, kBindMatches) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_runs, "join/probe_output.vert:RUNS", JoinBy::nothing, JoinTarget::pairs,
     bindings(kBindMatches, kBindRunRows) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_rows_compute, "join/probe_rows.comp", JoinBy::keys, JoinTarget::none,
     bindings(kBindKeys, kBindLayers, kBindMatches, kBindPairs) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_stack_compute, "join/probe_output.comp:STACK", JoinBy::keys, JoinTarget::none,
     bindings(kBindKeys, kBindLayers, kBindMatches, kBindPairs) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_runs_compute, "join/probe_output.comp:RUNS", JoinBy::nothing, JoinTarget::none,
     bindings(kBindMatches, kBindRunRows, kBindPairs) | kSum, sizeof(ProbePush)},
    {JoinPass::mark_build_stack, "join/mark_build_stack.comp", JoinBy::keys, JoinTarget::none,
     bindings(kBindKeys, kBindLayers, kBindMatches, kBindMarks), sizeof(MarkPush)},
    {JoinPass::mark_heads, "join/mark_heads.comp", JoinBy::nothing, JoinTarget::none,
     bindings(kBindMatches, kBindMarks, kBindHeads), sizeof(MarkPush)},
    {JoinPass::mark_build_runs, "join/mark_build_runs.comp", JoinBy::keys_and_runs, JoinTarget::none,
     bindings(kBindKeys, kBindMarks, kBindHeads) | kRuns, sizeof(MarkPush)},
}};

static_assert(are_in_order(kJoinPassRows));

vk::ColorTarget color_target(JoinTarget target, KeyKind kind) {
  if (target == JoinTarget::sums) return {VK_FORMAT_R32_SFLOAT, vk::Blend::add};
  bool const wide = target == JoinTarget::texels && kind.key_words == 2;
  return {wide ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32G32_UINT, vk::Blend::none};
}

}  // namespace

PipelineSpec pipeline_spec(PassSpec const& pass) {
  std::vector<vk::BindingSpec> bound;
  for (std::uint32_t binding = 0; binding < 64; ++binding) {
    if ((pass.bindings >> binding & 1U) == 0) continue;
    bool const texture = (pass.textures >> binding & 1U) != 0;
    bound.push_back({binding, texture ? vk::BindingKind::sampled_image : vk::BindingKind::storage_buffer});
  }
  if (pass.fragment.empty())
    return vk::ComputePipelineSpec{shaders::get(pass.entry), pass.constants, std::move(bound), pass.push_bytes};
  return vk::GraphicsPipelineSpec{shaders::get(pass.entry), shaders::get(pass.fragment),
                                  pass.constants,           std::move(bound),
                                  pass.push_bytes,          pass.targets};
}

Result<vk::Pipeline const*> compile(vk::PipelineStore& store, PipelineSpec const& spec) {
  return std::visit([&](auto const& concrete) { return store.compile(concrete); }, spec);
}

PipelineSpec join_pipeline(JoinPass pass, KeyKind kind) {
  auto const& row = kJoinPassRows.at(static_cast<std::size_t>(pass));
  PassSpec spec{row.entry, row.bindings, kJoinTextures, row.push_bytes};
  if (row.by != JoinBy::nothing) spec.constants.push_back({kSpecKeyWords, kind.key_words});
  if (row.by == JoinBy::keys || row.by == JoinBy::keys_and_runs)
    spec.constants.push_back({kSpecDirect, kind.direct ? 1U : 0U});
  std::string hashed;
  if ((row.by == JoinBy::keys_and_runs || row.by == JoinBy::entries) && !kind.direct) {
    spec.entry = hashed = std::string(row.entry) + ":HASH_ADDRESS";
    spec.bindings |= bindings(kBindRunKeys);
  }
  if (row.target == JoinTarget::none) return pipeline_spec(spec);
  spec.fragment = row.target == JoinTarget::sums ? "points/color_float.frag" : "points/color_uint.frag";
  spec.targets = {color_target(row.target, kind)};
  return pipeline_spec(spec);
}

std::vector<PipelineSpec> graphics_join_pipelines() {
  std::vector<PipelineSpec> specs;
  for (auto const& row : kJoinPassRows) {
    for (std::uint32_t const key_words : {1U, 2U}) {
      for (bool const direct : {false, true}) {
        if (row.by == JoinBy::nothing && (key_words == 2 || direct)) continue;
        specs.push_back(join_pipeline(row.pass, {key_words, direct}));
      }
    }
  }
  return specs;
}

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
  GARUDA_TRY_ASSIGN(auto const* pipeline, this->pipeline(pass, direct));
  return vulkan::PassContext::dispatch(phase, label, *pipeline, resources, push, invocations, items_each);
}

Result<ScanPipelines> KernelContext::scan_pipelines(JoinPass scan) {
  ScanPipelines pipelines;
  GARUDA_TRY_ASSIGN(pipelines.scan, pipeline(scan));
  GARUDA_TRY_ASSIGN(pipelines.bases, pipeline(JoinPass::scan_bases));
  return pipelines;
}

}  // namespace garuda::graphics
