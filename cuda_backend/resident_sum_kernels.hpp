// Kernels of the group-by of resident tables that sums 32-bit values. Launch functions return what CUDA says of the
// launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda_backend/chunk_tasks.hpp"
#include "cuda_backend/join_kernels.hpp"

namespace garuda::cuda {

/// The groups that several blocks add to: open addressing.
struct SumTable {
  std::uint32_t* keys = nullptr;  ///< a slot, and one more for the key that marks free slots
  std::uint64_t* sums = nullptr;  ///< as many
  std::uint32_t* used = nullptr;  ///< whether the one more slot is
  std::uint32_t log2_slots = 0;
  std::uint32_t* overflow = nullptr;  ///< set when a key found no slot
};

/// What the group-by reads and writes.
struct ResidentGroupPass {
  std::uint32_t const* keys = nullptr;  ///< mixed when `mixed`
  std::int32_t const* values = nullptr;
  ChunkTask const* tasks = nullptr;  ///< build rows: the chunk; probe_rows: tasks of its partition
  std::uint32_t num_tasks = 0;
  std::uint32_t log2_shared_slots = 0;  ///< of a block's table
  bool mixed = false;
  SumTable table;
  std::uint32_t* keys_out = nullptr;
  std::int64_t* sums_out = nullptr;
  std::uint64_t* cursor = nullptr;
  std::uint64_t capacity = 0;
};
/// Shared memory of a block.
std::uint64_t aggregate_chunks_bytes(std::uint32_t log2_shared_slots);
/// Aggregates chunks in shared memory. Groups of a partition of one chunk are final and written; others are added to
/// the table.
cudaError_t aggregate_chunks(Launch const& launch, ResidentGroupPass const& pass);
/// Writes the groups of the table behind the others.
cudaError_t write_groups(Launch const& launch, ResidentGroupPass const& pass);

}  // namespace garuda::cuda
