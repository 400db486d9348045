// One slice of an equi-join as compute passes: both sides partitioned on the device, joined in shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "operators/compute/join/join_tasks.hpp"
#include "operators/compute/join/slice_kernel.hpp"
#include "operators/compute/primitives/chunk_table.hpp"
#include "operators/compute/primitives/partitioned_side.hpp"

namespace garuda::compute {

/// "GFUR" of Wu et al. 2025: keys move with their row numbers. Equal build keys are brought together once, which fixes
/// the sequence of pairs; counting, marking and every window of pairs then run over the same tasks.
class ComputeKernel final : public SliceKernel {
 public:
  /// Starts the uploads and the partitioning; waits for none of it. `slice`'s keys outlive the kernel. Errors: those of
  /// JoinKernel.
  static Result<std::unique_ptr<contract::JoinKernel>> start(ComputeResources const& resources,
                                                             contract::JoinSlice const& slice);

 private:
  ComputeKernel(ComputeResources const& resources, contract::JoinSlice const& slice) : SliceKernel(resources, slice) {}

  Result<std::uint64_t> count_pairs() override;
  Result<void> record_pairs(std::uint64_t first, std::uint64_t rows, vk::Buffer const& window) override;
  Result<void> record_marks(Side side, vk::Buffer const& marks) override;

  Result<void> start_partitions();
  Result<void> group_build_keys();

  std::optional<PartitionedSide> build_;
  std::optional<PartitionedSide> probe_;
  std::optional<ChunkTable> chunks_;
  std::optional<JoinTasks> tasks_;
  std::uint64_t num_tasks_ = 0;
  vk::Buffer offsets_;  // first pair of each task
};

}  // namespace garuda::compute
