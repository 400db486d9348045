// The join of resident tables in shared memory, partition by partition.
#pragma once

#include <array>
#include <cstdint>

#include "cuda_backend/join/chunk_tasks.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

/// A payload column and where it goes. Without rows it was carried into the order of partitions, else it lies as it
/// came, and rows[i] is the row of position i.
struct PayloadColumn {
  void const* source = nullptr;
  std::uint32_t const* rows = nullptr;
  void* target = nullptr;
  std::uint32_t bytes = 4;  ///< 4 or 8
};
struct PayloadColumns {
  std::array<PayloadColumn, GARUDA_CUDA_MAX_COLUMNS> columns{};
  std::uint32_t count = 0;
};

/// Least and most partition bits of the join: an entry of a table keeps all of a key but its lowest 16 bits, which are
/// those of its partition and of its bucket.
inline constexpr std::uint32_t kFewestJoinBits = 4;
inline constexpr std::uint32_t kSplitBits = 16;

/// Arguments of the join of tasks.
struct ResidentJoinPass {
  ChunkTask const* tasks = nullptr;
  std::uint32_t num_tasks = 0;
  void const* build_keys = nullptr;  ///< in the order of partitions, as the others
  void const* probe_keys = nullptr;
  void* keys_out = nullptr;  ///< null: keys are not written
  PayloadColumns build;
  PayloadColumns probe;
  std::uint64_t* cursor = nullptr;  ///< rows so far, 0 before; counts on beyond `capacity`
  std::uint64_t capacity = 0;       ///< rows that are written
  std::uint32_t partition_bits = 0;
  std::uint32_t build_chunk = 0;              ///< most build rows of a task: below 2^16 - 1
  std::uint32_t log2_buckets = 0;             ///< at least kSplitBits - partition_bits
  bool mixed = false;                         ///< keys are mixed and are written unmixed
  std::uint32_t const* probe_rows = nullptr;  ///< the row of each probe key, for marks
  std::uint32_t* marks = nullptr;             ///< a bit a probe row, cleared before
};
/// Shared memory that a block of the join takes.
std::uint64_t join_tasks_bytes(std::uint32_t build_chunk, std::uint32_t log2_buckets, std::uint32_t key_bytes);
/// Joins tasks in shared memory and writes rows in any order. Errors: device_failure, out_of_memory.
Result<void> join_tasks(Lane& lane, ResidentJoinPass const& pass, std::uint32_t key_bytes);
/// Sets the bits of probe rows that have a match; writes nothing else. Errors: device_failure, out_of_memory.
Result<void> mark_tasks(Lane& lane, ResidentJoinPass const& pass, std::uint32_t key_bytes);

}  // namespace garuda::cuda_backend
