#include "cuda_backend/histogram.hpp"

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_histogram.cuh>

#include <bit>
#include <cstdint>
#include <string>

#include "cuda_backend/hashing.cuh"
#include "cuda_backend/launch.cuh"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint32_t kMostBlocksEach = 64;

/// Neighbouring threads of the whole grid take neighbouring rows.
__global__ void count_grid_stride(std::uint32_t const* values, std::uint64_t rows, std::uint32_t mask,
                                  std::uint32_t* counts) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) atomicAdd(&counts[values[i] & mask], 1U);
}

/// Each block takes a stretch of rows of its own.
__global__ void count_block_stride(std::uint32_t const* values, std::uint64_t rows, std::uint32_t mask,
                                   std::uint32_t* counts) {
  auto const each = (rows + gridDim.x - 1) / gridDim.x;
  auto const begin = each * blockIdx.x;
  auto const end = begin + each < rows ? begin + each : rows;
  for (auto i = begin + threadIdx.x; i < end; i += blockDim.x) atomicAdd(&counts[values[i] & mask], 1U);
}

struct LowBits {
  std::uint32_t mask;
  __host__ __device__ std::uint32_t operator()(std::uint32_t value) const { return value & mask; }
};

Result<void> count_by_cub(Lane& lane, GarudaCudaHistogram const& histogram, std::uint32_t mask) {
  auto const* const values = reinterpret_cast<std::uint32_t const*>(histogram.values);
  auto* const counts = reinterpret_cast<std::uint32_t*>(histogram.counts);
  auto const samples = thrust::make_transform_iterator(values, LowBits{mask});
  auto const levels = static_cast<int>(histogram.bins + 1);
  auto const upper = static_cast<std::uint32_t>(histogram.bins);
  auto const rows = static_cast<std::int64_t>(histogram.rows);
  auto const run = [&](void* temp, std::size_t& temp_bytes) {
    return cub::DeviceHistogram::HistogramEven(temp, temp_bytes, samples, counts, levels, std::uint32_t{0}, upper, rows,
                                               lane.stream());
  };
  std::size_t temp_bytes = 0;
  GARUDA_CUDA_TRY(run(nullptr, temp_bytes));
  GARUDA_TRY_ASSIGN(auto const temp, lane.allocate(temp_bytes, "histogram"));
  GARUDA_TRY(lane.step("count", histogram.rows * 4, histogram.rows));
  GARUDA_CUDA_TRY(run(temp.as<void>(), temp_bytes));
  return lane.wait();
}

Result<void> check(GarudaCudaHistogram const& histogram) {
  if (!std::has_single_bit(histogram.bins) || histogram.bins > std::uint64_t{1} << 30)
    return fail(ErrorCode::usage, "bins must be a power of two up to 2^30: " + std::to_string(histogram.bins));
  if (histogram.method == GARUDA_CUDA_HISTOGRAM_CUB) {
    if (histogram.bins > GARUDA_CUDA_MOST_CUB_BINS)
      return fail(ErrorCode::usage, "cub::DeviceHistogram counts up to 2^16 bins: " + std::to_string(histogram.bins));
    return {};
  }
  if (histogram.threads == 0 || histogram.threads > kMostThreads || histogram.threads % kWarp != 0)
    return fail(ErrorCode::usage,
                "threads of a block must be a multiple of 32 up to 1024: " + std::to_string(histogram.threads));
  if (histogram.blocks_each == 0 || histogram.blocks_each > kMostBlocksEach)
    return fail(ErrorCode::usage,
                "blocks a multiprocessor out of range [1, 64]: " + std::to_string(histogram.blocks_each));
  return {};
}

}  // namespace

Result<void> count_bins(Lane& lane, GarudaCudaHistogram const& histogram) {
  GARUDA_TRY(check(histogram));
  auto* const counts = reinterpret_cast<std::uint32_t*>(histogram.counts);
  auto const mask = static_cast<std::uint32_t>(histogram.bins - 1);
  GARUDA_TRY(lane.step("clear", histogram.bins * 4));
  GARUDA_CUDA_TRY(cudaMemsetAsync(counts, 0, histogram.bins * 4, lane.stream()));
  if (histogram.method == GARUDA_CUDA_HISTOGRAM_CUB) return count_by_cub(lane, histogram, mask);
  GARUDA_TRY(lane.step("count", histogram.rows * 4, histogram.rows));
  auto const* const values = reinterpret_cast<std::uint32_t const*>(histogram.values);
  auto const blocks = lane.device().traits().multiprocessors * histogram.blocks_each;
  auto* const kernel = histogram.method == GARUDA_CUDA_HISTOGRAM_GRID_STRIDE ? count_grid_stride : count_block_stride;
  GARUDA_TRY(launch(lane, {blocks, histogram.threads}, kernel, values, histogram.rows, mask, counts));
  return lane.wait();
}

}  // namespace garuda::cuda_backend
