// The stack of hash images H_i (GARUDA §3.1), held in slices of at most SH_limit images (GARUDA §3.3.2).
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/join/slice_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

/// Stack over one build side. Image g of the whole stack is layer g % layers of slice g / layers. The FlagArray holds
/// g + 1 for every row in image g, so any slice can be drawn again, in any order, after it was built once.
class HashStack {
 public:
  /// Takes memory for a slice. `num_images`: the largest clash of the statistics, exactly the images needed.
  /// `reserve_bytes`: device memory to leave for others. `build` outlives this.
  static Result<HashStack> create(KernelContext& context, SliceSide const& build, std::uint32_t num_images,
                                  std::uint64_t reserve_bytes);

  std::uint32_t num_images() const noexcept { return num_images_; }
  std::uint32_t num_slices() const noexcept { return (num_images_ + layers_ - 1) / layers_; }
  /// Images of a slice: as many as a slice holds, or fewer in the last one.
  std::uint32_t layers_of(std::uint32_t slice) const noexcept;

  /// Records what brings the images of `slice` into memory: nothing when they are there, passes that grow the stack
  /// when it was never that high, a redraw by the FlagArray otherwise. Vertices and compute that follow may read them.
  Result<void> load(KernelContext& context, std::uint32_t slice);

  vk::Image const& images() const noexcept { return images_; }
  SideAddress const& address() const noexcept { return *build_->address(); }

 private:
  Result<void> grow(KernelContext& context, std::uint32_t slice);
  Result<void> redraw(KernelContext& context, std::uint32_t slice);
  Result<void> draw_image(KernelContext& context, std::uint32_t layer, std::uint32_t flag);
  Result<void> mark_winners(KernelContext& context, std::uint32_t layer, std::uint32_t flag);

  SliceSide const* build_ = nullptr;
  std::uint32_t num_images_ = 0;
  std::uint32_t layers_ = 0;        // of a slice
  std::uint32_t grown_slices_ = 0;  // slices whose rows are in the FlagArray
  std::optional<std::uint32_t> loaded_;
  vk::Image images_;
  vk::Buffer flags_;
};

}  // namespace garuda::graphics
