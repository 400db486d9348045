#include "cuda_backend/resident_sum_kernels.hpp"

#include <cub/block/block_scan.cuh>

#include "cuda_backend/hashing.cuh"

namespace garuda::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWide = 1024;  // threads of a block that works in shared memory

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
constexpr unsigned kBlocksEach = 1;  // a multiprocessor, as its threads allow
#else
constexpr unsigned kBlocksEach = 2;
#endif
constexpr std::uint32_t kFree = 0xffff'ffffU;  // a slot without a key; the key that is spelled so has one of its own
constexpr std::uint32_t kSharedSteps = 64;     // of a probe before its row goes to the table in device memory
constexpr std::uint32_t kTableSteps = 4096;

using Word = unsigned long long;

__device__ void add_to_table(SumTable const& table, std::uint32_t key, std::int64_t sum) {
  auto slot = 1U << table.log2_slots;
  if (key == kFree) {
    *table.used = 1;
  } else {
    auto const mask = slot - 1;
    slot = mix(key) & mask;
    for (std::uint32_t step = 0;; ++step) {
      auto present = *static_cast<std::uint32_t volatile*>(&table.keys[slot]);
      if (present == kFree) present = atomicCAS(&table.keys[slot], kFree, key);
      if (present == kFree || present == key) break;
      if (step == kTableSteps || step == mask) {
        *table.overflow = 1;
        return;
      }
      slot = (slot + 1) & mask;
    }
  }
  atomicAdd(reinterpret_cast<Word*>(&table.sums[slot]), static_cast<Word>(sum));
}

/// Sums of a block: 64 bits as two words, because shared memory adds 32 bits at a time.
struct SharedSums {
  std::uint32_t* keys;
  std::uint32_t* low;
  std::uint32_t* high;
  std::uint32_t log2_slots;

  __device__ std::uint32_t slots() const { return 1U << log2_slots; }
  /// The slot of a key; kFree when it lies too far from its home.
  __device__ std::uint32_t find(std::uint32_t key) const {
    if (key == kFree) return slots();
    auto slot = mix(key) >> (32 - log2_slots);
    for (std::uint32_t step = 0; step < kSharedSteps; ++step) {
      auto present = *static_cast<std::uint32_t volatile*>(&keys[slot]);
      if (present == kFree) present = atomicCAS(&keys[slot], kFree, key);
      if (present == kFree || present == key) return slot;
      slot = (slot + 1) & (slots() - 1);
    }
    return kFree;
  }
  __device__ void add(std::uint32_t slot, std::int32_t value) const {
    auto const word = static_cast<std::uint32_t>(value);
    auto const before = atomicAdd(&low[slot], word);
    auto const carried = (value < 0 ? 0xffff'ffffU : 0U) + (before + word < before ? 1U : 0U);
    if (carried != 0) atomicAdd(&high[slot], carried);
  }
  __device__ std::int64_t sum(std::uint32_t slot) const {
    return static_cast<std::int64_t>(std::uint64_t{high[slot]} << 32 | low[slot]);
  }
};

__device__ std::uint32_t original(ResidentGroupPass const& pass, std::uint32_t key) {
  return pass.mixed ? unmix(key) : key;
}

/// A block a chunk.
__global__ void __launch_bounds__(kWide, kBlocksEach) aggregate_chunks_kernel(ResidentGroupPass pass) {
  using Scan = cub::BlockScan<std::uint32_t, kWide>;
  extern __shared__ std::uint32_t shared_sums[];
  __shared__ typename Scan::TempStorage scan_memory;
  __shared__ std::uint64_t first_out;
  __shared__ std::uint32_t spilled;
  __shared__ std::uint32_t has_free_key;
  auto const num_slots = 1U << pass.log2_shared_slots;
  SharedSums const sums{shared_sums, shared_sums + num_slots, shared_sums + 2 * num_slots + 1, pass.log2_shared_slots};
  auto const task = pass.tasks[blockIdx.x];
  if (threadIdx.x == 0) spilled = has_free_key = 0;
  for (auto i = threadIdx.x; i < num_slots; i += kWide) sums.keys[i] = kFree;
  for (auto i = threadIdx.x; i <= num_slots; i += kWide) sums.low[i] = sums.high[i] = 0;
  __syncthreads();
  for (auto i = threadIdx.x; i < task.build_rows; i += kWide) {
    auto const key = pass.keys[task.build_first + i];
    auto const value = pass.values[task.build_first + i];
    auto const slot = sums.find(key);
    if (slot == kFree) {
      add_to_table(pass.table, key, value);
      spilled = 1;
    } else {
      if (slot == num_slots) has_free_key = 1;
      sums.add(slot, value);
    }
  }
  __syncthreads();
  auto const is_used = [&](std::uint32_t slot) {
    return slot < num_slots ? sums.keys[slot] != kFree : slot == num_slots && has_free_key != 0;
  };
  auto const key_of = [&](std::uint32_t slot) { return slot < num_slots ? sums.keys[slot] : kFree; };
  bool const is_final = task.probe_rows == 1 && spilled == 0;
  if (!is_final) {
    for (auto slot = threadIdx.x; slot <= num_slots; slot += kWide)
      if (is_used(slot)) add_to_table(pass.table, key_of(slot), sums.sum(slot));
    return;
  }
  std::uint32_t groups = 0;
  for (auto slot = threadIdx.x; slot <= num_slots; slot += kWide) groups += is_used(slot) ? 1 : 0;
  std::uint32_t position = 0;
  std::uint32_t total = 0;
  Scan(scan_memory).ExclusiveSum(groups, position, total);
  if (threadIdx.x == 0) first_out = atomicAdd(reinterpret_cast<Word*>(pass.cursor), static_cast<Word>(total));
  __syncthreads();
  auto out = first_out + position;
  for (auto slot = threadIdx.x; slot <= num_slots; slot += kWide) {
    if (!is_used(slot)) continue;
    if (out < pass.capacity) {
      pass.keys_out[out] = original(pass, key_of(slot));
      pass.sums_out[out] = sums.sum(slot);
    }
    ++out;
  }
}

__global__ void write_groups_kernel(ResidentGroupPass pass) {
  auto const slots = std::uint64_t{1} << pass.table.log2_slots;
  auto const lane = threadIdx.x % 32;
  for (auto base = global_thread() - lane; base <= slots; base += grid_threads()) {
    auto const slot = base + lane;
    bool const used = slot < slots ? pass.table.keys[slot] != kFree : slot == slots && *pass.table.used != 0;
    auto const lanes = __ballot_sync(0xffff'ffffU, used);
    if (lanes == 0) continue;
    std::uint64_t first = 0;
    if (lane == 0) first = atomicAdd(reinterpret_cast<Word*>(pass.cursor), static_cast<Word>(__popc(lanes)));
    first = __shfl_sync(0xffff'ffffU, first, 0);
    auto const out = first + static_cast<unsigned>(__popc(lanes & ((1U << lane) - 1)));
    if (!used || out >= pass.capacity) continue;
    pass.keys_out[out] = original(pass, slot < slots ? pass.table.keys[slot] : kFree);
    pass.sums_out[out] = static_cast<std::int64_t>(pass.table.sums[slot]);
  }
}

}  // namespace

std::uint64_t aggregate_chunks_bytes(std::uint32_t log2_shared_slots) {
  return ((std::uint64_t{3} << log2_shared_slots) + 2) * sizeof(std::uint32_t);
}

cudaError_t aggregate_chunks(Launch const& launch, ResidentGroupPass const& pass) {
  auto const bytes = aggregate_chunks_bytes(pass.log2_shared_slots);
  auto const status = cudaFuncSetAttribute(aggregate_chunks_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(bytes));
  if (status != cudaSuccess) return status;
  aggregate_chunks_kernel<<<pass.num_tasks, kWide, bytes, launch.stream>>>(pass);
  return cudaGetLastError();
}

cudaError_t write_groups(Launch const& launch, ResidentGroupPass const& pass) {
  auto const items = (1ULL << pass.table.log2_slots) + 1;
  write_groups_kernel<<<grid_for(items, kThreads, launch.multiprocessors), kThreads, 0, launch.stream>>>(pass);
  return cudaGetLastError();
}

}  // namespace garuda::cuda
