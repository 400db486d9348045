// Kernels of joins and group-bys of tables in device memory. Launch functions return what CUDA says of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/plugin.h"

namespace garuda::cuda {

/// Counts how 2^13 keys, spread over `rows`, fall into 256 bins by bits [0, 8) and [8, 16). bins: 2 × 256, written.
template <class Key>
cudaError_t sample_digits(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t* bins);
inline constexpr std::uint32_t kSampledKeys = 1U << 13;

/// Where each of 2^bits partitions begins among keys that are sorted by their low bits; one more entry for the end.
template <class Key>
cudaError_t find_partitions(Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits,
                            std::uint32_t* starts);

/// Rows of a task: a chunk of a partition's build rows by a chunk of its probe rows.
struct JoinTask {
  std::uint32_t build_first;
  std::uint32_t build_rows;
  std::uint32_t probe_first;
  std::uint32_t probe_rows;
};
/// Without probe_starts tasks are chunks of build rows, and their probe_rows the chunks of their partition.
struct TaskShape {
  std::uint32_t const* build_starts = nullptr;
  std::uint32_t const* probe_starts = nullptr;
  std::uint32_t partitions = 1;
  std::uint32_t build_chunk = 1;  ///< rows
  std::uint32_t probe_chunk = 1;
};
/// counts: partitions + 1, the last 0; below 2^32 - 1, which stands for more.
cudaError_t count_tasks(Launch const& launch, TaskShape const& shape, std::uint32_t* counts);
cudaError_t list_tasks(Launch const& launch, TaskShape const& shape, std::uint64_t const* offsets, JoinTask* tasks);

/// A payload column: where it comes from, in the order of partitions, and where it goes.
struct PayloadColumn {
  void const* source = nullptr;
  void* target = nullptr;
  std::uint32_t bytes = 4;  ///< 4 or 8
};
struct PayloadColumns {
  std::array<PayloadColumn, GARUDA_CUDA_MAX_COLUMNS> columns{};
  std::uint32_t count = 0;
};

/// What the join of tasks reads and writes.
struct ResidentJoinPass {
  JoinTask const* tasks = nullptr;
  std::uint32_t num_tasks = 0;
  void const* build_keys = nullptr;
  void const* probe_keys = nullptr;
  void* keys_out = nullptr;
  PayloadColumns build;
  PayloadColumns probe;
  std::uint64_t* cursor = nullptr;  ///< rows so far, 0 before; counts on beyond `capacity`
  std::uint64_t capacity = 0;       ///< rows that are written
  std::uint32_t partition_bits = 0;
  std::uint32_t build_chunk = 0;  ///< most build rows of a task: below 2^16
  std::uint32_t log2_heads = 0;
  bool mixed = false;  ///< keys are mixed and are written unmixed
};
/// Shared memory that a block of the join takes.
std::uint64_t join_tasks_bytes(std::uint32_t build_chunk, std::uint32_t log2_heads, std::uint32_t key_bytes);
/// Joins tasks in shared memory and writes rows in any order.
template <class Key>
cudaError_t join_tasks(Launch const& launch, ResidentJoinPass const& pass);

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
  JoinTask const* tasks = nullptr;  ///< build rows: the chunk; probe_rows: tasks of its partition
  std::uint32_t num_tasks = 0;
  bool mixed = false;
  SumTable table;
  std::uint32_t* keys_out = nullptr;
  std::int64_t* sums_out = nullptr;
  std::uint64_t* cursor = nullptr;
  std::uint64_t capacity = 0;
};
/// Aggregates chunks in shared memory. Groups of a partition of one chunk are final and written; others are added to
/// the table.
cudaError_t aggregate_chunks(Launch const& launch, ResidentGroupPass const& pass);
/// Writes the groups of the table behind the others.
cudaError_t write_groups(Launch const& launch, ResidentGroupPass const& pass);

}  // namespace garuda::cuda
