// The rows of a join of partitioned sides on the device: tasks listed, joined in shared memory, columns written.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/join/join_tasks.hpp"
#include "operators/compute/primitives/partitioned_side.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::compute {

/// Most rows that one run of the join writes: its cursor has 32 bits.
inline constexpr std::uint64_t kMostJoinedRows = 0xfffffffe;

/// Where the rows go: columns with room for `capacity` rows each, payload in the order of its side.
struct JoinedRows {
  std::uint64_t capacity = 0;  ///< 1 to kMostJoinedRows
  VkDeviceAddress keys = 0;
  std::vector<VkDeviceAddress> build;
  std::vector<VkDeviceAddress> probe;
};

/// Joins one pair of sides after the other; what it needs on the device is taken once. Rows come in any order.
class RowsJoin {
 public:
  /// What a run came to: all rows are in the columns if they fit.
  struct Outcome {
    std::uint64_t rows = 0;  ///< that the join has
    bool fits = false;
    bool again = false;  ///< a run after the recorded one wrote them
  };

  /// For sides of at most so many rows each, both in 2^`bits` partitions, with so many payload columns together.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<RowsJoin> create(ComputeContext& context, std::uint32_t bits, std::uint64_t build_rows,
                                 std::uint64_t probe_rows, std::size_t payload_columns);

  /// Records the join of both sides as they are partitioned when it runs. What the arguments refer to stays in place
  /// until finish() has returned.
  Result<void> record(ComputeContext& context, PartitionedSide const& build, PartitionedSide const& probe,
                      JoinedRows rows);
  /// Waits for the latest run; runs the join again where the estimates of its first run were too low.
  /// Errors: limit_exceeded for a join of more than 2^32 tasks.
  Result<Outcome> finish(ComputeContext& context);

  /// JoinRowsState of the latest run, good for passes recorded after it.
  vk::Buffer const& state() const noexcept { return state_; }

 private:
  Result<void> record_rows(ComputeContext& context);

  JoinTasks tasks_;
  std::uint64_t max_tasks_ = 0;
  std::uint32_t max_task_rows_ = 0;
  vk::Buffer state_;
  vk::Buffer columns_;
  // of the latest run:
  PartitionedSide const* build_ = nullptr;
  PartitionedSide const* probe_ = nullptr;
  JoinedRows rows_;
};

}  // namespace garuda::compute
