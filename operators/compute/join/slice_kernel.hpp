// What the compute kernels of a join share: a slice's keys on the device, and windows of its sequence of pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/partitioned_side.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/vulkan/submissions.hpp"

namespace garuda::compute {

/// What a kernel borrows from its backend. All outlive the kernel.
struct ComputeResources {
  vk::Lane* lane = nullptr;
  vk::PipelineStore* pipelines = nullptr;
  ComputeTuning const* tuning = nullptr;
  contract::BackendOptions const* options = nullptr;
  std::uint64_t memory_budget_bytes = 0;  ///< of the lane
};

/// Pairs are made a window at a time and kept on the host until they have been asked for.
class SliceKernel : public contract::JoinKernel {
 public:
  ~SliceKernel() override;

  Result<std::uint64_t> count() final;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) final;
  Result<contract::MarkBitmap> mark(Side side) final;

 protected:
  SliceKernel(ComputeResources const& resources, contract::JoinSlice const& slice);

  /// Counts the pairs of a slice with rows on both sides.
  virtual Result<std::uint64_t> count_pairs() = 0;
  /// Records the pairs [first, first + rows) into `window`.
  virtual Result<void> record_pairs(std::uint64_t first, std::uint64_t rows, vk::Buffer const& window) = 0;
  /// Records the bits of the rows of `side` that have a match into `marks`, which is zeroed.
  virtual Result<void> record_marks(Side side, vk::Buffer const& marks) = 0;

  bool is_empty() const noexcept { return slice_.left.size() == 0 || slice_.right.size() == 0; }
  contract::KeySpan const& keys_of(Side side) const noexcept { return side == Side::left ? slice_.left : slice_.right; }
  Side build_side() const noexcept { return build_side_; }
  Side probe_side() const noexcept { return build_side_ == Side::left ? Side::right : Side::left; }
  ComputeContext& context() noexcept { return context_; }
  vulkan::Submissions& submissions() noexcept { return submissions_; }
  void add_counter(char const* name, std::uint64_t value) const;

  /// Starts the upload of a side's keys; rows are numbered when they move.
  Result<DeviceRows> upload(Side side);

 private:
  Result<void> load_window(std::uint64_t first);

  contract::JoinSlice slice_;
  contract::BackendOptions const& options_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  Side build_side_ = Side::left;
  vk::Buffer left_keys_;
  vk::Buffer right_keys_;
  std::optional<std::uint64_t> count_;
  vk::Buffer window_;
  std::uint64_t window_rows_ = 0;   // that the buffer holds
  std::uint64_t window_first_ = 0;  // of the pairs kept
  std::vector<contract::RowPair> kept_;
};

}  // namespace garuda::compute
