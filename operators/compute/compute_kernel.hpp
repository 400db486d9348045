// One slice of an equi-join as compute passes: both sides partitioned on the device, joined in shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operators/compute/chunk_table.hpp"
#include "operators/compute/join_tasks.hpp"
#include "operators/compute/partitioned_side.hpp"
#include "operators/graphics/submissions.hpp"
#include "operators/join_kernel.hpp"

namespace garuda::operators {

/// What a kernel borrows from its backend. All outlive the kernel.
struct ComputeResources {
  vk::Lane* lane = nullptr;
  vk::PipelineStore* pipelines = nullptr;
  ComputeTuning const* tuning = nullptr;
  BackendOptions const* options = nullptr;
  std::uint64_t memory_budget_bytes = 0;  ///< of the lane
};

/// "GFUR" of Wu et al. 2025: keys move with their row numbers. Equal build keys are brought together once, which fixes
/// the sequence of pairs; counting, marking and every window of pairs then run over the same tasks.
class ComputeKernel final : public JoinKernel {
 public:
  /// Starts the uploads and the partitioning; waits for none of it. `slice`'s keys outlive the kernel. Errors: those of
  /// JoinKernel.
  static Result<std::unique_ptr<JoinKernel>> start(ComputeResources const& resources, JoinSlice const& slice);
  ~ComputeKernel() override;

  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<RowPair> out) override;
  Result<MarkBitmap> mark(Side side) override;

 private:
  ComputeKernel(ComputeResources const& resources, JoinSlice const& slice);

  bool is_empty() const noexcept { return slice_.left.size() == 0 || slice_.right.size() == 0; }
  KeySpan const& keys_of(Side side) const noexcept { return side == Side::left ? slice_.left : slice_.right; }
  Result<DeviceRows> upload(Side side);
  Result<void> start_partitions();
  Result<void> group_build_keys();
  Result<void> count_pairs();
  Result<void> load_window(std::uint64_t first);

  JoinSlice slice_;
  BackendOptions const& options_;
  vk::Lane& lane_;
  Submissions submissions_;
  ComputeContext context_;
  Side build_side_ = Side::left;
  vk::Buffer left_keys_;
  vk::Buffer right_keys_;
  std::optional<PartitionedSide> build_;
  std::optional<PartitionedSide> probe_;
  std::optional<ChunkTable> chunks_;
  std::optional<JoinTasks> tasks_;
  std::uint64_t num_tasks_ = 0;
  vk::Buffer offsets_;  // first pair of each task
  std::optional<std::uint64_t> count_;
  vk::Buffer window_;
  std::uint64_t window_rows_ = 0;   // that the buffer holds
  std::uint64_t window_first_ = 0;  // of the pairs kept
  std::vector<RowPair> kept_;
};

}  // namespace garuda::operators
