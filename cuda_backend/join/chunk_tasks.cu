#include "cuda_backend/join/chunk_tasks.hpp"

#include <span>
#include <string>

#include "cuda_backend/launch.cuh"
#include "cuda_backend/primitives.hpp"

namespace garuda::cuda_backend {
namespace {

__device__ std::uint32_t chunks_of(std::uint32_t rows, std::uint32_t chunk) {
  return rows / chunk + (rows % chunk != 0 ? 1 : 0);
}

__device__ std::uint32_t size_of(std::uint32_t const* starts, std::uint64_t partition) {
  return starts[partition + 1] - starts[partition];
}

/// Without a probe side a task is a build chunk.
__global__ void count_tasks_kernel(TaskShape shape, std::uint32_t* counts) {
  for (auto p = global_thread(); p <= shape.partitions; p += grid_threads()) {
    std::uint64_t tasks = 0;
    if (p < shape.partitions) {
      tasks = chunks_of(size_of(shape.build_starts, p), shape.build_chunk);
      if (shape.probe_starts != nullptr) tasks *= chunks_of(size_of(shape.probe_starts, p), shape.probe_chunk);
    }
    counts[p] = tasks < 0xffff'ffffU ? static_cast<std::uint32_t>(tasks) : 0xffff'ffffU;
  }
}

/// A warp a partition.
__global__ void list_tasks_kernel(TaskShape shape, std::uint64_t const* offsets, ChunkTask* tasks) {
  auto const lane = threadIdx.x % 32;
  for (auto p = global_thread() / 32; p < shape.partitions; p += grid_threads() / 32) {
    auto const count = offsets[p + 1] - offsets[p];
    if (count == 0) continue;
    auto const build_begin = shape.build_starts[p];
    auto const build_rows = size_of(shape.build_starts, p);
    bool const has_probe = shape.probe_starts != nullptr;
    auto const probe_begin = has_probe ? shape.probe_starts[p] : 0;
    auto const probe_rows = has_probe ? size_of(shape.probe_starts, p) : 0;
    auto const probe_chunks = has_probe ? chunks_of(probe_rows, shape.probe_chunk) : 1;
    for (auto t = std::uint64_t{lane}; t < count; t += 32) {
      auto const build = static_cast<std::uint32_t>(t / probe_chunks) * shape.build_chunk;
      auto const probe = static_cast<std::uint32_t>(t % probe_chunks) * shape.probe_chunk;
      auto const build_left = build_rows - build;
      auto const probe_left = probe_rows - probe;
      tasks[offsets[p] + t] = {build_begin + build, build_left < shape.build_chunk ? build_left : shape.build_chunk,
                               probe_begin + probe,
                               // Without a probe side: the chunks of the chunk's partition.
                               !has_probe ? static_cast<std::uint32_t>(count)
                                          : (probe_left < shape.probe_chunk ? probe_left : shape.probe_chunk)};
    }
  }
}

/// The first task of each partition, and how many there are.
Result<Buffer> find_firsts(Lane& lane, TaskShape const& shape) {
  auto const entries = shape.partitions + 1;
  GARUDA_TRY_ASSIGN(auto const counts, lane.allocate(entries * 4ULL, "tasks of partitions"));
  GARUDA_TRY_ASSIGN(auto firsts, lane.allocate(entries * 8ULL, "first tasks of partitions"));
  auto* const count_words = counts.as<std::uint32_t>();
  GARUDA_TRY(launch_over(lane, entries, count_tasks_kernel, shape, count_words));
  GARUDA_TRY(sum_up(lane, count_words, firsts.as<std::uint64_t>(), entries));
  return firsts;
}

/// Memory for `list.count` tasks, and the tasks.
Result<void> fill(Lane& lane, TaskShape const& shape, TaskList& list) {
  GARUDA_TRY_ASSIGN(list.tasks, lane.allocate(list.count * sizeof(ChunkTask), "tasks"));
  if (list.count == 0) return {};
  return launch_over(lane, shape.partitions * 32ULL, list_tasks_kernel, shape, list.firsts.as<std::uint64_t>(),
                     list.tasks.as<ChunkTask>());
}

}  // namespace

Result<TaskList> list_chunk_tasks(Lane& lane, TaskShape const& shape) {
  constexpr std::uint64_t kMostTasks = std::uint64_t{1} << 28;
  GARUDA_TRY(lane.step("tasks", 0, shape.partitions));
  TaskList list;
  GARUDA_TRY_ASSIGN(list.firsts, find_firsts(lane, shape));
  std::uint64_t total = 0;
  auto const* const end = list.firsts.as<std::uint64_t>() + shape.partitions;
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(&total, 1)), end));
  if (total > kMostTasks)
    return fail(ErrorCode::limit_exceeded, "the tables fall into too many pairs of chunks: " + std::to_string(total));
  list.count = static_cast<std::uint32_t>(total);
  GARUDA_TRY(lane.step("tasks", total * sizeof(ChunkTask), total));
  GARUDA_TRY(fill(lane, shape, list));
  return list;
}

Result<TaskList> list_chunks(Lane& lane, TaskShape const& shape, std::uint32_t rows) {
  TaskList list;
  GARUDA_TRY_ASSIGN(list.firsts, find_firsts(lane, shape));
  list.count = rows / shape.build_chunk + shape.partitions;
  GARUDA_TRY(fill(lane, shape, list));
  return list;
}

}  // namespace garuda::cuda_backend
