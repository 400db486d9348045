// The flattened image (GARUDA §3.4.4), built without a stack: every pixel's rows are consecutive entries.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/join/slice_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

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
