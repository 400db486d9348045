// One slice of an equi-join by a sorted build side: sort-merge, or an index in device memory that probe rows look into.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operators/compute/join/indexed_side.hpp"
#include "operators/compute/join/slice_kernel.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/sorted_side.hpp"

namespace garuda::compute {

/// The build side is sorted by key and indexed by the leading bits in which its keys differ, about one entry a row:
/// dense keys are addressed directly. Method `sorted` sorts the probe side, too, so that its look-ups and the pairs
/// come in the order of the keys; method `global` leaves it where it is and pays for random reads instead of passes.
/// Work is dealt out by pairs, so skew on either side costs what its pairs do. Source: Wu et al. 2025, §4.1 (sort-merge
/// and non-partitioned joins).
class SortedKernel final : public SliceKernel {
 public:
  /// Starts the uploads and the sorting; waits for none of it. `slice`'s keys outlive the kernel. Errors: those of
  /// JoinKernel.
  static Result<std::unique_ptr<contract::JoinKernel>> start(ComputeResources const& resources,
                                                             contract::JoinSlice const& slice, JoinMethod method);

 private:
  SortedKernel(ComputeResources const& resources, contract::JoinSlice const& slice, JoinMethod method)
      : SliceKernel(resources, slice), method_(method) {}

  Result<std::uint64_t> count_pairs() override;
  Result<void> record_pairs(std::uint64_t first, std::uint64_t rows, vk::Buffer const& window) override;
  Result<void> record_marks(Side side, vk::Buffer const& marks) override;

  Result<void> start_sorting();
  /// Row numbers in the order of the probe keys; 0 where that is the order of the rows.
  VkDeviceAddress probe_numbers() const noexcept { return probe_ ? probe_->numbers().address() : 0; }

  JoinMethod method_;
  std::optional<IndexedSide> build_;
  std::optional<SortedSide> probe_;
  DeviceRows probe_rows_;
  VkDeviceAddress probe_keys_ = 0;
  MatchRuns runs_;
  vk::Buffer offsets_;  // first pair of each probe row
};

/// Device bytes that a slice of so many rows takes with this method.
std::uint64_t sorted_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                                JoinMethod method, ComputeTuning const& tuning) noexcept;

/// Every pipeline of the sorted join with this tuning beside those of partitions and sums.
std::vector<vk::ComputePipelineSpec> sorted_join_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
