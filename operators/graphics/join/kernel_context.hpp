// Every pipeline of the graphics join, by pass; the context that all passes of one slice share, and the prefix sums
// that passes of joins and group-bys take on the device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/graphics/join/graphics_choice.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "vk_runtime/memory/memory.hpp"
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

/// A set of bindings, a bit each.
template <class... Bindings>
constexpr std::uint64_t bindings(Bindings... binding) {
  return ((std::uint64_t{1} << binding) | ...);
}

/// Whether the rows of a table of passes are in the order of their enumeration.
template <class Rows>
constexpr bool are_in_order(Rows const& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].pass) != i) return false;
  return true;
}

/// A pass as its row in a table of passes and its constants have it.
struct PassSpec {
  std::string_view entry;      ///< of the vertex or compute shader
  std::uint64_t bindings = 0;  ///< that it reads or writes
  std::uint64_t textures = 0;  ///< bindings that are sampled images in any pass
  std::uint32_t push_bytes = 0;
  std::vector<vk::SpecConstant> constants{};
  std::string_view fragment{};             ///< shader of a draw; empty: a compute pass
  std::vector<vk::ColorTarget> targets{};  ///< of a draw
};
/// Description of its pipeline.
PipelineSpec pipeline_spec(PassSpec const& pass);
/// The pipeline from `store`, compiled at the first call. Errors: those of PipelineStore::compile.
Result<vk::Pipeline const*> compile(vk::PipelineStore& store, PipelineSpec const& spec);

/// Description of a pass's pipeline.
PipelineSpec join_pipeline(JoinPass pass, KeyKind kind);

/// All pipelines that the graphics join can create, each once.
std::vector<PipelineSpec> graphics_join_pipelines();

/// The two passes of a prefix sum.
struct ScanPipelines {
  vk::Pipeline const* scan = nullptr;   ///< a variant of scan_tiles.comp
  vk::Pipeline const* bases = nullptr;  ///< scan_bases.comp
};

/// Exclusive prefix sums: u32 offsets within tiles of 256 elements, 64-bit bases of the tiles.
class PrefixSum {
 public:
  /// Takes memory for `elements` counts, each at most 2^24. `elements` ≥ 1, at most 2^28.
  static Result<PrefixSum> create(vulkan::PassContext& context, std::uint32_t elements, char const* name);

  /// Records the sum over counts that `pipelines.scan` reads from `counts` (bindings and resources) in
  /// row-major order of an image 2^log2_width wide. Its inputs are ready for compute; earlier readers of the sum are
  /// done with it. Vertices and compute that follow see the sum.
  Result<void> record(vulkan::PassContext& context, char const* phase, ScanPipelines const& pipelines,
                      std::span<vk::BoundResource const> counts, std::uint32_t log2_width);

  /// Makes the sums that follow be over fewer counts: 1 to as many as it was created for.
  void resize(std::uint32_t elements);

  /// Submits, waits and returns the sum of all counts.
  Result<std::uint64_t> total(vulkan::PassContext& context, char const* phase);

  /// Bases of the tiles and the total behind them, num_tiles() + 1 values; submits and waits.
  Result<std::vector<std::uint64_t>> bases(vulkan::PassContext& context);

  vk::Buffer const& offsets() const noexcept { return offsets_; }
  vk::Buffer const& tile_bases() const noexcept { return tile_bases_; }
  std::uint32_t num_tiles() const noexcept { return num_tiles_; }

 private:
  vk::Buffer offsets_;
  vk::Buffer tile_bases_;
  std::uint32_t elements_ = 0;
  std::uint32_t num_tiles_ = 0;
};

/// The references outlive the context, which one thread uses.
class KernelContext : public vulkan::PassContext {
 public:
  /// `key_words`: of the join's keys, 1 or 2.
  KernelContext(vk::Lane& lane, vk::PipelineStore& pipelines, std::uint32_t key_words, vulkan::Submissions& submissions,
                GraphicsLimits const& limits, std::uint64_t memory_budget_bytes)
      : vulkan::PassContext(lane, submissions, memory_budget_bytes),
        pipelines_(pipelines),
        key_words_(key_words),
        limits_(limits) {}

  GraphicsLimits const& limits() const noexcept { return limits_; }
  std::uint32_t key_words() const noexcept { return key_words_; }
  std::uint32_t key_bits() const noexcept { return 32 * key_words_; }

  Result<vk::Pipeline const*> pipeline(JoinPass pass, bool direct = false) {
    return compile(pipelines_, join_pipeline(pass, {key_words_, direct}));
  }

  /// Binds and dispatches a compute pass of the join, one invocation per `invocations`, each of which works on
  /// `items_each` elements. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, JoinPass pass, bool direct,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations, std::uint64_t items_each = 1);

  /// The pipelines of a prefix sum over what `scan`, one of the scan_… passes, reads.
  Result<ScanPipelines> scan_pipelines(JoinPass scan);

 private:
  vk::PipelineStore& pipelines_;
  std::uint32_t key_words_;
  GraphicsLimits const& limits_;
};

}  // namespace garuda::graphics
