// One side of a slice on the device: its keys, where they are drawn, and how they clash there; and what is built over
// the build side: the stack of hash images H_i (GARUDA §3.1), held in slices of at most SH_limit images (GARUDA
// §3.3.2), or the flattened image (GARUDA §3.4.4), where every pixel's rows are consecutive entries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

/// Owned by the kernel; destroyed before its lane's arena is reset.
class SliceSide {
 public:
  /// `keys` outlive this.
  SliceSide(Side side, contract::KeySpan const& keys) : side_(side), keys_(&keys) {}

  Side side() const noexcept { return side_; }
  std::uint32_t rows() const noexcept { return static_cast<std::uint32_t>(keys_->size()); }
  vk::Buffer const& keys() const noexcept { return buffer_; }

  /// Where the rows are drawn when this is the build side; nothing when it cannot be.
  std::optional<SideAddress> const& address() const noexcept { return address_; }
  void set_address(std::optional<SideAddress> address) { address_ = address; }

  /// Starts the upload of the keys; what is submitted next waits for it. The host's time is the phase's time.
  Result<void> upload(KernelContext& context);

  /// Records the statistics pass (GARUDA §3.4.3) and its reduction: one point a row added into an R32_SFLOAT image, or
  /// by compute where `limits.blend` is false. Needs an address. At most once.
  Result<void> record_statistics(KernelContext& context);
  bool has_recorded_statistics() const noexcept { return static_cast<bool>(statistics_buffer_); }

  /// Waits for the statistics. Errors: cancelled, device_failure.
  Result<shaders::ClashStatistics const*> statistics(KernelContext& context);

  /// Rows per pixel as the statistics pass left them: one of the two, read by compute.
  vk::Image const& clash_image() const noexcept { return clash_image_; }
  vk::Buffer const& clash_counts() const noexcept { return clash_counts_; }

 private:
  Result<void> draw_clashes(KernelContext& context);
  Result<void> count_clashes(KernelContext& context);

  Side side_;
  contract::KeySpan const* keys_;
  vk::Buffer buffer_;
  std::optional<SideAddress> address_;
  vk::Image clash_image_;
  vk::Buffer clash_counts_;
  vk::Buffer statistics_buffer_;
  std::optional<shaders::ClashStatistics> statistics_;
};

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

/// Runs of one build side: entries sorted by (pixel, key, row). Where runs begin comes from the statistics' prefix sum;
/// rows are placed and sorted when they are first needed. With direct addresses a run is one key, so counting needs no
/// rows.
class RunTable {
 public:
  /// Records the prefix sum of the clash counts of `build`, which outlives this. Its statistics have been waited for.
  static Result<RunTable> create(KernelContext& context, SliceSide const& build,
                                 shaders::ClashStatistics const& clashes);

  /// Records placing and sorting, once. Vertices and compute that follow see the entries.
  Result<void> place(KernelContext& context);

  /// Resources by which count and mark passes look runs up: offsets, bases and, with hash addresses, the placed keys.
  std::vector<vk::BoundResource> lookup() const;

  vk::Buffer const& rows() const noexcept { return rows_; }
  SliceSide const& build() const noexcept { return *build_; }
  bool direct() const noexcept { return build_->address()->direct; }

 private:
  struct WorkLists {
    vk::Buffer medium;
    vk::Buffer long_runs;
    vk::Buffer blocks;
    vk::Buffer sizes;
    std::uint32_t num_medium = 0;
    std::uint32_t num_long = 0;
    std::uint32_t num_blocks = 0;  // at most
  };

  Result<void> place_rows(KernelContext& context);
  Result<void> create_lists(KernelContext& context);
  Result<void> sort_short_runs(KernelContext& context);
  Result<void> sort_medium_runs(KernelContext& context);
  Result<void> sort_long_runs(KernelContext& context);
  Result<void> sort_step(KernelContext& context, JoinPass pass, vk::Buffer const& list, shaders::SortPush const& push);
  std::vector<vk::BoundResource> entries() const;

  SliceSide const* build_ = nullptr;
  shaders::ClashStatistics clashes_{};
  PrefixSum begins_;
  vk::Buffer rows_;
  vk::Buffer keys_;
  vk::Buffer cursors_;  // rows placed per pixel; alive until the device has placed them
  WorkLists lists_;
  bool placed_ = false;
};

}  // namespace garuda::graphics
