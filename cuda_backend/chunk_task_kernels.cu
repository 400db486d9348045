#include "cuda_backend/chunk_tasks.hpp"
#include "cuda_backend/hashing.cuh"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kThreads = 256;

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
                               // Of a chunk without a probe side: the chunks of its partition.
                               !has_probe ? static_cast<std::uint32_t>(count)
                                          : (probe_left < shape.probe_chunk ? probe_left : shape.probe_chunk)};
    }
  }
}

}  // namespace

cudaError_t count_tasks(Launch const& launch, TaskShape const& shape, std::uint32_t* counts) {
  count_tasks_kernel<<<grid_for(shape.partitions + 1ULL, kThreads, launch.multiprocessors), kThreads, 0,
                       launch.stream>>>(shape, counts);
  return cudaGetLastError();
}

cudaError_t list_tasks(Launch const& launch, TaskShape const& shape, std::uint64_t const* offsets, ChunkTask* tasks) {
  list_tasks_kernel<<<grid_for(shape.partitions * 32ULL, kThreads, launch.multiprocessors), kThreads, 0,
                      launch.stream>>>(shape, offsets, tasks);
  return cudaGetLastError();
}

}  // namespace garuda::cuda_backend
