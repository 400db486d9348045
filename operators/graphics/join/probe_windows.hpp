// The probe phase (GARUDA §3.3): makes the output in windows of positions, drawn into the result FBO or written by a
// compute pass, and brings them over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/join/match_table.hpp"
#include "operators/graphics/join/slice_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

/// A texel of the result FBO.
struct MatchedRows {
  std::uint32_t probe = 0;
  std::uint32_t build = 0;
};

/// A stretch of the output of one stack slice (or of the runs): positions [first, first + rows.size()).
struct OutputWindow {
  std::uint64_t first = 0;
  std::span<MatchedRows const> rows;  ///< host memory; good until another window is rendered
};

/// The counted matches and loaded images of one slice, which are probed.
struct ProbeSource {
  std::uint32_t slice = 0;
  std::uint64_t total = 0;  ///< matches of the slice
  HashStack const* stack = nullptr;
  RunTable const* runs = nullptr;  ///< instead of a stack
  MatchTable* matches = nullptr;
};

/// Windows lie on a grid, so that reading the output front to back in pieces of any size draws each window once. The
/// last window is kept.
///
/// A window is as many positions as the result FBO has texels.
///
/// Where matches are written by compute, a buffer takes the place of the result FBO: instanced is an invocation a probe
/// row, output one an output position.
class ProbeWindows {
 public:
  /// Takes memory for a result FBO of at most `most_positions` texels and for its copy on the host.
  static Result<ProbeWindows> create(KernelContext& context, Probe probe, std::uint64_t most_positions);

  /// The window that holds `position` < source.total: kept, or rendered now; submits and waits.
  Result<OutputWindow> at(KernelContext& context, ProbeSource const& source, std::uint64_t position);

  /// Whether the window that holds `position` of `slice` is the one kept, so that the slice need not be loaded.
  bool holds(std::uint32_t slice, std::uint64_t position) const noexcept;
  /// The window kept.
  OutputWindow const& kept() const noexcept { return window_; }

 private:
  struct RowRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  Result<void> render(KernelContext& context, ProbeSource const& source, std::uint64_t index);
  Result<RowRange> rows_of(KernelContext& context, ProbeSource const& source, std::uint64_t first, std::uint64_t count);
  Result<void> draw(KernelContext& context, ProbeSource const& source, std::uint64_t first, std::uint64_t count,
                    VkExtent2D area);
  /// The compute pass in place of draw().
  Result<void> write(KernelContext& context, ProbeSource const& source, std::uint64_t first, std::uint64_t count);
  shaders::ProbePush push_of(ProbeSource const& source, std::uint64_t first, std::uint64_t count) const;
  Result<void> download(KernelContext& context, VkExtent2D area);
  Result<void> download_pairs(KernelContext& context, std::uint64_t count);
  std::vector<vk::BoundResource> resources(ProbeSource const& source) const;

  Probe probe_ = Probe::output;
  vulkan::ImageShape shape_;
  vk::Image result_fbo_;  // or:
  vk::Buffer pairs_;      // of a window that a compute pass writes
  vk::Buffer staging_;
  std::vector<std::uint64_t> tile_bases_;  // of bases_slice_; instanced only
  std::optional<std::uint32_t> bases_slice_;
  std::optional<std::uint32_t> kept_slice_;
  OutputWindow window_;
};

}  // namespace garuda::graphics
