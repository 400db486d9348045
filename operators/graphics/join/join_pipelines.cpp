#include "operators/graphics/join/join_pipelines.hpp"

#include <string>
#include <string_view>

#include "shaders/embedded.hpp"
#include "shaders/shared/join_layout.h"

namespace garuda::graphics {
namespace {

using namespace shaders;

/// The constants that a pipeline is specialised by.
enum class By : std::uint8_t {
  nothing,
  keys,           ///< width of the keys, and kind of addresses
  keys_and_runs,  ///< the same, and for hash addresses the variant HASH_ADDRESS, which binds the runs' keys
  entries,        ///< width of the keys, and that variant
};

enum class Target : std::uint8_t {
  none,    ///< a compute pass
  sums,    ///< R32_SFLOAT, added
  texels,  ///< of hash images, overwritten
  pairs,   ///< R32G32_UINT, overwritten
};

template <class... Bindings>
constexpr std::uint32_t bindings(Bindings... binding) {
  return ((1U << binding) | ...);
}

constexpr std::uint32_t kTextures = bindings(kBindLayers, kBindCountImage);

struct PassRow {
  JoinPass pass;
  std::string_view entry;  ///< of the vertex or compute shader
  By by;
  Target target;
  std::uint32_t bindings;
  std::uint32_t push_bytes;
};

constexpr auto kSum = bindings(kBindOffsets, kBindTileBases);
constexpr auto kRuns = bindings(kBindRunOffsets, kBindRunBases);
constexpr auto kSort = bindings(kBindRunRows, kBindRunLists);

// The passes, in the order of JoinPass.
constexpr std::array<PassRow, kJoinPasses> kPasses{{
    {JoinPass::statistics, "join/statistics.vert", By::keys, Target::sums, bindings(kBindKeys), sizeof(StatisticsPush)},
    {JoinPass::statistics_count, "join/statistics_count.comp", By::keys, Target::none, bindings(kBindKeys, kBindCounts),
     sizeof(StatisticsPush)},
    {JoinPass::statistics_reduce_image, "join/statistics_reduce.comp:COUNTS_IN_IMAGE", By::nothing, Target::none,
     bindings(kBindCountImage, kBindStatistics), sizeof(ReducePush)},
    {JoinPass::statistics_reduce_counts, "join/statistics_reduce.comp:COUNTS_IN_BUFFER", By::nothing, Target::none,
     bindings(kBindCounts, kBindStatistics), sizeof(ReducePush)},
    {JoinPass::build, "join/build.vert", By::keys, Target::texels, bindings(kBindKeys, kBindFlags), sizeof(BuildPush)},
    {JoinPass::mark_winners, "join/mark_winners.comp", By::nothing, Target::none, bindings(kBindFlags, kBindLayers),
     sizeof(MarkWinnersPush)},
    {JoinPass::count_stack, "join/count_stack.vert", By::keys, Target::sums, bindings(kBindKeys, kBindLayers),
     sizeof(CountPush)},
    {JoinPass::count_stack_compute, "join/count_stack.comp", By::keys, Target::none,
     bindings(kBindKeys, kBindLayers, kBindMatches), sizeof(CountPush)},
    {JoinPass::count_runs, "join/count_runs.vert", By::keys_and_runs, Target::pairs, bindings(kBindKeys) | kRuns,
     sizeof(CountPush)},
    {JoinPass::count_runs_compute, "join/count_runs.comp", By::keys_and_runs, Target::none,
     bindings(kBindKeys, kBindMatches, kBindCounts) | kRuns, sizeof(CountPush)},
    {JoinPass::scan_clash_image, "join/scan_tiles.comp:CLASH_IMAGE", By::nothing, Target::none,
     bindings(kBindCountImage) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_clash_counts, "join/scan_tiles.comp:CLASH_BUFFER", By::nothing, Target::none,
     bindings(kBindCounts) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_layer_image, "join/scan_tiles.comp:LAYER_SET_IMAGE", By::nothing, Target::none,
     bindings(kBindCountImage, kBindMatches, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_layer_sets, "join/scan_tiles.comp:LAYER_SET_BUFFER", By::nothing, Target::none,
     bindings(kBindMatches, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_run_image, "join/scan_tiles.comp:RUN_IMAGE", By::nothing, Target::none,
     bindings(kBindCountImage, kBindMatches, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_run_counts, "join/scan_tiles.comp:RUN_COUNTS", By::nothing, Target::none,
     bindings(kBindCounts, kBindMarks) | kSum, sizeof(ScanPush)},
    {JoinPass::scan_bases, "join/scan_bases.comp", By::nothing, Target::none, bindings(kBindTileBases),
     sizeof(ScanPush)},
    {JoinPass::place_rows, "join/place_rows.comp", By::keys_and_runs, Target::none,
     bindings(kBindKeys, kBindRunRows, kBindRunCursors) | kRuns, sizeof(RunPush)},
    {JoinPass::sort_short_runs, "join/sort_short_runs.comp", By::entries, Target::none,
     bindings(kBindListSizes, kBindLongRuns) | kRuns | kSort, sizeof(RunPush)},
    {JoinPass::expand_blocks, "join/expand_blocks.comp", By::nothing, Target::none,
     bindings(kBindRunLists, kBindListSizes, kBindLongRuns), sizeof(SortPush)},
    {JoinPass::sort_blocks, "join/sort_blocks.comp", By::entries, Target::none, kSort, sizeof(SortPush)},
    {JoinPass::merge_blocks, "join/merge_blocks.comp", By::entries, Target::none, kSort, sizeof(SortPush)},
    {JoinPass::probe_instanced, "join/probe_instanced.vert", By::keys, Target::pairs,
     bindings(kBindKeys, kBindLayers, kBindMatches) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_stack, "join/probe_output.vert:STACK", By::keys, Target::pairs,
     bindings(kBindKeys, kBindLayers, kBindMatches) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_runs, "join/probe_output.vert:RUNS", By::nothing, Target::pairs,
     bindings(kBindMatches, kBindRunRows) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_rows_compute, "join/probe_rows.comp", By::keys, Target::none,
     bindings(kBindKeys, kBindLayers, kBindMatches, kBindPairs) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_stack_compute, "join/probe_output.comp:STACK", By::keys, Target::none,
     bindings(kBindKeys, kBindLayers, kBindMatches, kBindPairs) | kSum, sizeof(ProbePush)},
    {JoinPass::probe_output_runs_compute, "join/probe_output.comp:RUNS", By::nothing, Target::none,
     bindings(kBindMatches, kBindRunRows, kBindPairs) | kSum, sizeof(ProbePush)},
    {JoinPass::mark_build_stack, "join/mark_build_stack.comp", By::keys, Target::none,
     bindings(kBindKeys, kBindLayers, kBindMatches, kBindMarks), sizeof(MarkPush)},
    {JoinPass::mark_heads, "join/mark_heads.comp", By::nothing, Target::none,
     bindings(kBindMatches, kBindMarks, kBindHeads), sizeof(MarkPush)},
    {JoinPass::mark_build_runs, "join/mark_build_runs.comp", By::keys_and_runs, Target::none,
     bindings(kBindKeys, kBindMarks, kBindHeads) | kRuns, sizeof(MarkPush)},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kJoinPasses; ++i) {
    if (kPasses[i].pass != static_cast<JoinPass>(i)) return false;
  }
  return true;
}
static_assert(in_order());

std::vector<vk::BindingSpec> binding_specs(std::uint32_t set) {
  std::vector<vk::BindingSpec> specs;
  for (std::uint32_t binding = 0; binding < 32; ++binding) {
    if ((set >> binding & 1U) == 0) continue;
    bool const texture = (kTextures >> binding & 1U) != 0;
    specs.push_back({binding, texture ? vk::BindingKind::sampled_image : vk::BindingKind::storage_buffer});
  }
  return specs;
}

vk::ColorTarget color_target(Target target, KeyKind kind) {
  if (target == Target::sums) return {VK_FORMAT_R32_SFLOAT, vk::Blend::add};
  bool const wide = target == Target::texels && kind.key_words == 2;
  return {wide ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32G32_UINT, vk::Blend::none};
}

}  // namespace

PipelineSpec join_pipeline(JoinPass pass, KeyKind kind) {
  auto const& row = kPasses.at(static_cast<std::size_t>(pass));
  std::vector<vk::SpecConstant> constants;
  if (row.by != By::nothing) constants.push_back({kSpecKeyWords, kind.key_words});
  if (row.by == By::keys || row.by == By::keys_and_runs) constants.push_back({kSpecDirect, kind.direct ? 1U : 0U});
  std::string entry(row.entry);
  auto bound = row.bindings;
  if ((row.by == By::keys_and_runs || row.by == By::entries) && !kind.direct) {
    entry += ":HASH_ADDRESS";
    bound |= bindings(kBindRunKeys);
  }
  if (row.target == Target::none) {
    vk::ComputePipelineSpec spec;
    spec.compute = shaders::get(entry);
    spec.constants = std::move(constants);
    spec.bindings = binding_specs(bound);
    spec.push_bytes = row.push_bytes;
    return spec;
  }
  vk::GraphicsPipelineSpec spec;
  spec.vertex = shaders::get(entry);
  spec.fragment = shaders::get(row.target == Target::sums ? "points/color_float.frag" : "points/color_uint.frag");
  spec.constants = std::move(constants);
  spec.bindings = binding_specs(bound);
  spec.push_bytes = row.push_bytes;
  spec.targets = {color_target(row.target, kind)};
  return spec;
}

std::vector<PipelineSpec> graphics_join_pipelines() {
  std::vector<PipelineSpec> specs;
  for (auto const& row : kPasses) {
    for (std::uint32_t const key_words : {1U, 2U}) {
      for (bool const direct : {false, true}) {
        if (row.by == By::nothing && (key_words == 2 || direct)) continue;
        specs.push_back(join_pipeline(row.pass, {key_words, direct}));
      }
    }
  }
  return specs;
}

Result<vk::Pipeline const*> JoinPipelines::get(JoinPass pass, bool direct) {
  auto& pipeline = pipelines_.at(static_cast<std::size_t>(pass)).at(direct ? 1 : 0);
  if (pipeline == nullptr) {
    auto const spec = join_pipeline(pass, {key_words_, direct});
    GARUDA_TRY_ASSIGN(pipeline, std::visit([&](auto const& concrete) { return store_->compile(concrete); }, spec));
  }
  return pipeline;
}

}  // namespace garuda::graphics
