// The work of blocks on partitions: chunks of rows, or pairs of chunks.
#pragma once

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Rows of a task: a chunk of a partition's build rows by a chunk of its probe rows.
struct ChunkTask {
  std::uint32_t build_first;
  std::uint32_t build_rows;
  std::uint32_t probe_first;
  std::uint32_t probe_rows;
};

/// Partitions whose tasks are listed; starts: partitions + 1. Without probe_starts tasks are chunks of build rows, and
/// their probe_rows the chunks of their partition.
struct TaskShape {
  std::uint32_t const* build_starts = nullptr;
  std::uint32_t const* probe_starts = nullptr;
  std::uint32_t partitions = 1;
  std::uint32_t build_chunk = 1;  ///< rows
  std::uint32_t probe_chunk = 1;
};

struct TaskList {
  Buffer tasks;
  Buffer firsts;  ///< u64: the first task of each partition, and behind the last one how many there are
  std::uint32_t count = 0;
};

/// Lists the tasks, partition by partition. Waits for the lane once. Errors: limit_exceeded for 2^28 tasks and more,
/// out_of_memory, device_failure.
Result<TaskList> list_chunk_tasks(Lane& lane, TaskShape const& shape);

/// Lists the chunks of build rows, `rows` in all, without waiting: `count` is the most that they can be.
Result<TaskList> list_chunks(Lane& lane, TaskShape const& shape, std::uint32_t rows);

}  // namespace garuda::cuda_backend
