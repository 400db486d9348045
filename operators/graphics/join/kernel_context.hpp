// The context that all passes of one slice of a join share, and the prefix sums that passes of joins and group-bys
// take on the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/graphics/join/graphics_choice.hpp"
#include "operators/graphics/join/join_pipelines.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

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
  KernelContext(vk::Lane& lane, JoinPipelines& pipelines, vulkan::Submissions& submissions,
                GraphicsLimits const& limits, JoinTuning const& tuning, std::uint64_t memory_budget_bytes)
      : vulkan::PassContext(lane, submissions, memory_budget_bytes),
        pipelines_(pipelines),
        limits_(limits),
        tuning_(tuning) {}

  JoinPipelines& pipelines() noexcept { return pipelines_; }
  GraphicsLimits const& limits() const noexcept { return limits_; }
  JoinTuning const& tuning() const noexcept { return tuning_; }
  std::uint32_t key_words() const noexcept { return pipelines_.key_words(); }
  std::uint32_t key_bits() const noexcept { return 32 * key_words(); }

  /// Binds and dispatches a compute pass of the join, one invocation per `invocations`, each of which works on
  /// `items_each` elements. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, JoinPass pass, bool direct,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations, std::uint64_t items_each = 1);

  /// The pipelines of a prefix sum over what `scan`, one of the scan_… passes, reads.
  Result<ScanPipelines> scan_pipelines(JoinPass scan);

 private:
  JoinPipelines& pipelines_;
  GraphicsLimits const& limits_;
  JoinTuning const& tuning_;
};

}  // namespace garuda::graphics
