// Exclusive prefix sums on the device: u32 offsets within tiles of 256 elements, 64-bit bases of the tiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

/// The two passes of a prefix sum.
struct ScanPipelines {
  vk::Pipeline const* scan = nullptr;   ///< a variant of scan_tiles.comp
  vk::Pipeline const* bases = nullptr;  ///< scan_bases.comp
};

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

}  // namespace garuda::graphics
