// The work of a partitioned join as tasks of even size: a build chunk and a probe chunk of one partition each.
#pragma once

#include <cstdint>

#include "operators/compute/primitives/device_scan.hpp"
#include "operators/compute/primitives/partitioned_side.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::compute {

/// Partition bits for `build_rows` rows such that an ordinary partition is one build chunk. At least 1.
std::uint32_t join_radix_bits(std::uint64_t build_rows, ComputeTuning const& tuning) noexcept;

/// Tasks found on the device. A partition of b build chunks and p probe chunks is b × p tasks, so heavy partitions are
/// split as finely as ordinary ones.
class JoinTasks {
 public:
  /// For sides with so many rows. Errors: limit_exceeded, out_of_memory.
  static Result<JoinTasks> create(ComputeContext& context, std::uint32_t partitions);

  /// Records how many tasks there are.
  Result<void> record_count(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe);
  /// Waits for their number. Errors: limit_exceeded when there are 2^32 or more.
  Result<std::uint64_t> read_count(ComputeContext& context);
  /// Takes memory for up to `max_tasks` tasks, and records their list.
  Result<void> record_list(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe,
                           std::uint64_t max_tasks);

  /// max_tasks() × JoinTask.
  vk::Buffer const& tasks() const noexcept { return tasks_; }
  std::uint64_t max_tasks() const noexcept { return max_tasks_; }
  /// u64: how many there are, listed or not.
  vk::Buffer const& count() const noexcept { return scan_.total(); }
  /// What vkCmdDispatchIndirect takes for a workgroup each.
  vk::Buffer const& dispatch() const noexcept { return dispatch_; }

 private:
  std::uint32_t partitions_ = 0;
  std::uint64_t max_tasks_ = 0;
  vk::Buffer counts_;
  vk::Buffer starts_;
  vk::Buffer tasks_;
  vk::Buffer dispatch_;
  DeviceScan scan_;
};

}  // namespace garuda::compute
