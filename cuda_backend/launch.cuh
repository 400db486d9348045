// How kernels are started, how their threads are numbered, and loads that a thread has under way together.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {

/// Blocks of a launch, and what each of them takes.
struct Grid {
  std::uint64_t blocks = 1;
  unsigned threads = 256;
  std::uint64_t shared_bytes = 0;  ///< beside what the kernel declares
};

/// Starts `kernel` on the lane's stream. Errors: device_failure, out_of_memory.
template <class... Parameters, class... Arguments>
Result<void> launch(Lane& lane, Grid const& grid, void (*kernel)(Parameters...), Arguments const&... arguments) {
  if (grid.shared_bytes > 0) {
    // Kernels are the device's: lanes that start one side by side all allow it the most, whatever they ask for.
    auto const* const function = reinterpret_cast<void const*>(kernel);
    cudaFuncAttributes attributes{};
    GARUDA_CUDA_TRY(cudaFuncGetAttributes(&attributes, function));
    auto const most = lane.device().traits().shared_bytes - attributes.sharedSizeBytes;
    GARUDA_CUDA_TRY(
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)));
  }
  kernel<<<static_cast<unsigned>(grid.blocks), grid.threads, grid.shared_bytes, lane.stream()>>>(arguments...);
  return lane.launched();
}

/// Starts `kernel`, whose threads take `items` in turn, on blocks enough to fill the device and no more than needed.
template <class... Parameters, class... Arguments>
Result<void> launch_over(Lane& lane, std::uint64_t items, void (*kernel)(Parameters...),
                         Arguments const&... arguments) {
  constexpr std::uint64_t kBlocksEach = 16;
  Grid grid;
  auto const needed = items == 0 ? 1 : (items + grid.threads - 1) / grid.threads;
  auto const most = lane.device().traits().multiprocessors * kBlocksEach;
  grid.blocks = needed < most ? needed : most;
  return launch(lane, grid, kernel, arguments...);
}

__device__ inline std::uint64_t global_thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::uint64_t grid_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

/// loaded[i] = values[first + i · kThreads + threadIdx.x], where that lies before `end`; others stay as they are.
template <unsigned kThreads, unsigned kItems, class Value, class Row>
__device__ void load_striped(Value const* values, Row first, Row end, Value (&loaded)[kItems]) {
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    auto const row = first + item * kThreads + threadIdx.x;
    if (row < end) loaded[item] = values[row];
  }
}

}  // namespace garuda::cuda_backend
