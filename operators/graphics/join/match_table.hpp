// The result of the count pass: for every probe row its matches, and where they go in the output.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/join/slice_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

/// Matches of one probe side against a stack slice or against the runs. Counting again, for another stack slice,
/// replaces matches and positions; the marks of the probe rows add up.
class MatchTable {
 public:
  /// Takes memory. `probe` outlives this.
  static Result<MatchTable> create(KernelContext& context, SliceSide const& probe, Storage storage);

  /// Records the count pass (GARUDA §3.2) over the images of `slice`, which are loaded, and the prefix sum.
  Result<void> count_stack(KernelContext& context, HashStack const& stack, std::uint32_t slice);
  /// Records the count pass over the runs, placed unless addresses are direct, and the prefix sum.
  Result<void> count_runs(KernelContext& context, RunTable const& runs);

  /// Submits, waits and returns the number of matches counted last.
  Result<std::uint64_t> total(KernelContext& context) { return prefix_.total(context, vulkan::phase::kPrefix); }

  SliceSide const& probe() const noexcept { return *probe_; }
  PrefixSum& prefix() noexcept { return prefix_; }
  /// Probe rows × u32: set of matching layers, or first entry of the matching run.
  vk::Buffer const& matches() const noexcept { return matches_; }
  /// Bitmap of the probe rows that matched anything so far.
  vk::Buffer const& marks() const noexcept { return marks_; }

 private:
  Result<void> draw_counts(KernelContext& context, JoinPass pass, bool direct, shaders::CountPush const& push,
                           std::span<vk::BoundResource const> resources, std::uint32_t instances);
  Result<void> scan(KernelContext& context, JoinPass pass);
  bool has_image(KernelContext& context) const noexcept;

  SliceSide const* probe_ = nullptr;
  vulkan::ImageShape shape_;
  Storage storage_ = Storage::stack;
  vk::Image count_fbo_;  // none when counting by compute
  vk::Buffer counts_;    // of runs counted by compute
  vk::Buffer matches_;
  vk::Buffer marks_;
  PrefixSum prefix_;
};

/// Words of a bitmap of `rows` rows, padded to 64 bits. Bytes.
std::uint64_t mark_bytes(std::uint32_t rows) noexcept;

/// Downloads such a bitmap; submits and waits.
Result<contract::MarkBitmap> download_marks(KernelContext& context, vk::Buffer const& marks, std::uint32_t rows);

}  // namespace garuda::graphics
