// The rows of a join of partitioned sides on the device: tasks listed, joined in shared memory, columns written.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "shaders/compute/join/partitioned_join_layout.h"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Rows of a chunk at most.
inline std::uint32_t join_chunk_rows(ComputeTuning const& tuning) noexcept {
  return tuning.join.group_size * tuning.join.items;
}

/// Partition bits for `build_rows` rows such that an ordinary partition is one build chunk. At least 1.
std::uint32_t join_radix_bits(std::uint64_t build_rows, ComputeTuning const& tuning) noexcept;

/// Most rows that one run of the join writes: its cursor has 32 bits.
inline constexpr std::uint64_t kMostJoinedRows = 0xfffffffe;

/// Where the rows go: columns with room for `capacity` rows each, payload in the order of its side.
struct JoinedRows {
  std::uint64_t capacity = 0;  ///< 1 to kMostJoinedRows
  VkDeviceAddress keys = 0;    ///< 0: not wanted
  std::vector<VkDeviceAddress> build;
  std::vector<VkDeviceAddress> probe;
  /// Rows, about; 0: nobody estimated them. Of many, and of unknown ones, those of a key are listed, so that skew costs
  /// no more than the rows that it makes.
  std::uint64_t expected = 0;
  /// Bitmaps over the partitioned rows that take a bit for each row with a match, zeroed; 0: none.
  VkDeviceAddress build_marks = 0;
  VkDeviceAddress probe_marks = 0;
  bool marks_only = false;  ///< rows are neither written nor counted; nor estimated
};

/// Joins one pair of sides after the other; what it needs on the device is taken once. Rows come in any order. The work
/// is scattered as tasks of even size, which are found on the device: a partition of b build chunks and p probe chunks
/// is b × p tasks, so heavy partitions are split as finely as ordinary ones.
class RowsJoin {
 public:
  /// The outcome of a run: all rows are in the columns if they fit.
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
  Result<void> take_tasks(ComputeContext& context, std::uint64_t tasks);
  Result<void> record_tasks(ComputeContext& context, bool listed);
  Result<void> record_rows(ComputeContext& context);
  std::uint64_t items_of(std::uint64_t rows) const noexcept;
  void scatter_rows(ComputeContext& context);
  Result<void> record_shares(ComputeContext& context, PassShape const& shape, shaders::JoinRowsPush push);

  std::uint32_t partitions_ = 0;
  std::uint64_t max_tasks_ = 0;  ///< that there is room to list
  std::uint32_t max_task_rows_ = 0;
  vk::Buffer task_counts_;  ///< of each partition
  vk::Buffer task_starts_;
  vk::Buffer tasks_;     ///< max_tasks_ × JoinTask
  vk::Buffer dispatch_;  ///< what vkCmdDispatchIndirect takes for them, and their number
  DeviceScan scan_;      ///< its total: how many there are, listed or not
  vk::Buffer state_;
  vk::Buffer columns_;
  // of the latest run:
  PartitionedSide const* build_ = nullptr;
  PartitionedSide const* probe_ = nullptr;
  JoinedRows rows_;
  std::uint64_t items_ = 0;        ///< elements that the pass over the tasks works on, about
  std::uint32_t most_shares_ = 1;  ///< that the tasks are listed in
};

/// Rows that partitions move, and the bytes of each.
struct PartitionedRows {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
};
/// Device bytes that two partitioned sides and their join take beside inputs and result, about.
std::uint64_t rows_join_bytes(PartitionedRows build, PartitionedRows probe, ComputeTuning const& tuning) noexcept;

/// Every pipeline of the join of partitions with this tuning beside those of partitions and sums.
std::vector<vk::ComputePipelineSpec> rows_join_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
