#include "cuda_backend/chunk_tasks.hpp"

#include <span>
#include <string>

#include "cuda_backend/scratch_primitives.hpp"

namespace garuda::cuda_backend {

Result<TaskList> list_chunk_tasks(Lane& lane, Launch const& launch, TaskShape const& shape) {
  constexpr std::uint64_t kMostTasks = std::uint64_t{1} << 28;
  auto const entries = shape.partitions + 1;
  GARUDA_TRY(lane.step("tasks", 0, shape.partitions));
  GARUDA_TRY_ASSIGN(auto const counts, lane.allocate(entries * 4ULL, "tasks of partitions"));
  GARUDA_TRY_ASSIGN(auto const offsets, lane.allocate(entries * 8ULL, "first tasks of partitions"));
  auto* const count_words = counts.as<std::uint32_t>();
  auto* const offset_words = offsets.as<std::uint64_t>();
  GARUDA_CUDA_TRY(count_tasks(launch, shape, count_words));
  GARUDA_TRY(sum_up(lane, count_words, offset_words, entries));
  std::uint64_t total = 0;
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(&total, 1)), offset_words + shape.partitions));
  if (total > kMostTasks)
    return fail(ErrorCode::limit_exceeded, "the tables fall into too many pairs of chunks: " + std::to_string(total));
  TaskList list;
  list.count = static_cast<std::uint32_t>(total);
  GARUDA_TRY_ASSIGN(list.tasks, lane.allocate(total * sizeof(ChunkTask), "tasks"));
  GARUDA_TRY(lane.step("tasks", total * sizeof(ChunkTask), total));
  if (total > 0) GARUDA_CUDA_TRY(list_tasks(launch, shape, offset_words, list.tasks.as<ChunkTask>()));
  return list;
}

}  // namespace garuda::cuda_backend
