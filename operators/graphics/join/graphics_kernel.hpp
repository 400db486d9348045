// One slice of an equi-join as a sequence of rendering passes (GARUDA §3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/hash_stack.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/join/match_table.hpp"
#include "operators/graphics/join/probe_windows.hpp"
#include "operators/graphics/join/run_table.hpp"
#include "operators/graphics/join/slice_side.hpp"

namespace garuda::graphics {

/// Resources that a kernel borrows from its backend, and which outlive it.
struct KernelResources {
  vk::Lane* lane = nullptr;
  JoinPipelines* pipelines = nullptr;
  GraphicsLimits const* limits = nullptr;
  contract::BackendOptions const* options = nullptr;
  std::uint64_t memory_budget_bytes = 0;  ///< of the lane
};

class GraphicsKernel final : public contract::JoinKernel {
 public:
  /// Takes addresses, starts the uploads and submits the statistics of the side that is likely to be built on; waits
  /// for none of it. `slice`'s keys outlive the kernel. Errors: usage when direct addresses were asked for and neither
  /// side's key range fits an image; those of JoinKernel.
  static Result<std::unique_ptr<contract::JoinKernel>> start(KernelResources const& resources,
                                                             contract::JoinSlice const& slice);
  ~GraphicsKernel() override;

  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;

 private:
  GraphicsKernel(KernelResources const& resources, contract::JoinSlice const& slice);

  bool is_empty() const noexcept { return left_.rows() == 0 || right_.rows() == 0; }
  SliceSide& other(SliceSide const& side) noexcept { return &side == &left_ ? right_ : left_; }
  Result<void> upload_and_start_statistics();
  Result<void> choose_addresses();
  SliceSide& likely_build_side() noexcept;
  Result<void> choose_build_side();
  Result<StorageChoice> storage_on(SliceSide& build);
  Result<void> create_tables();
  Result<void> load_slice(std::uint32_t slice);
  Result<void> create_windows();
  Result<contract::MarkBitmap> mark_build();
  Result<void> mark_build_slices();
  Result<void> mark_build_runs();
  void report_choice();

  contract::JoinSlice slice_;
  contract::BackendOptions const& options_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  KernelContext context_;
  SliceSide left_;
  SliceSide right_;
  SliceSide* build_ = nullptr;
  Storage storage_ = Storage::stack;
  std::optional<HashStack> stack_;
  std::optional<RunTable> runs_;
  std::optional<MatchTable> matches_;
  std::optional<ProbeWindows> windows_;
  vk::Buffer build_marks_;  // bitmap; empty until asked for
  vk::Buffer heads_;
  std::vector<std::uint64_t> slice_starts_;     // output positions; the total last; empty until counted
  std::optional<std::uint32_t> counted_slice_;  // whose matches are in matches_
};

}  // namespace garuda::graphics
