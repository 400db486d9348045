// Every pipeline of the graphics join, by pass.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {

/// A pass, named after its shader and, where it has variants, by what it reads.
enum class JoinPass : std::uint8_t {
  statistics,
  statistics_count,
  statistics_reduce_image,
  statistics_reduce_counts,
  build,
  mark_winners,
  count_stack,
  count_stack_compute,
  count_runs,
  count_runs_compute,
  scan_clash_image,
  scan_clash_counts,
  scan_layer_image,
  scan_layer_sets,
  scan_run_image,
  scan_run_counts,
  scan_bases,
  place_rows,
  sort_short_runs,
  expand_blocks,
  sort_blocks,
  merge_blocks,
  probe_instanced,
  probe_output_stack,
  probe_output_runs,
  probe_rows_compute,
  probe_output_stack_compute,
  probe_output_runs_compute,
  mark_build_stack,
  mark_heads,
  mark_build_runs,
};
inline constexpr std::size_t kJoinPasses = 31;

/// The constants that pipelines are specialised by. Passes that do not read keys or addresses ignore them.
struct KeyKind {
  std::uint32_t key_words = 1;  ///< 1: 32-bit keys, 2: 64-bit keys
  bool direct = false;          ///< direct addresses, else hash addresses

  friend bool operator==(KeyKind const&, KeyKind const&) = default;
};

using PipelineSpec = std::variant<vk::GraphicsPipelineSpec, vk::ComputePipelineSpec>;

/// Description of a pass's pipeline.
PipelineSpec join_pipeline(JoinPass pass, KeyKind kind);

/// All pipelines that the graphics join can create, each once.
std::vector<PipelineSpec> graphics_join_pipelines();

/// Pipelines of one lane, compiled at first use. Not thread-safe; the store it draws from is.
class JoinPipelines {
 public:
  /// `store` outlives this. `key_words`: of the join.
  JoinPipelines(vk::PipelineStore& store, std::uint32_t key_words) : store_(&store), key_words_(key_words) {}

  /// Errors: those of PipelineStore::compile.
  Result<vk::Pipeline const*> get(JoinPass pass, bool direct = false);

  std::uint32_t key_words() const noexcept { return key_words_; }

 private:
  vk::PipelineStore* store_;
  std::uint32_t key_words_;
  std::array<std::array<vk::Pipeline const*, 2>, kJoinPasses> pipelines_{};
};

}  // namespace garuda::graphics
