// The rows of a resident group-by in chunks, one a block: how many, and the table for groups that several of them have.
#pragma once

#include <cstdint>

#include "cuda_backend/chunk_tasks.hpp"
#include "cuda_backend/partitioned_side.hpp"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Bytes of shared memory that a block takes beside its table.
inline constexpr std::uint64_t kSharedReserve = 4096;

/// log2 of the least power of two, from 2 on, that is not below `value`.
std::uint32_t log2_at_least(std::uint64_t value) noexcept;

/// Rows of a chunk: few enough that all multiprocessors have several, so many that a chunk has many rows of a group,
/// and at most 2^17, what sums in shared memory have bits for.
std::uint32_t group_chunk_rows(std::uint32_t rows, std::uint32_t multiprocessors) noexcept;

/// log2 of the slots of the table of groups that several chunks have, at first. Rows are in 2^bits partitions; groups
/// of a partition that is one chunk never reach the table.
std::uint32_t group_table_bits(std::uint32_t rows, std::uint32_t bits, std::uint64_t expected_groups,
                               std::uint32_t chunk_rows) noexcept;

/// Lists the chunks of `rows` rows in 2^bits partitions; without partitions (bits 0) they are one, whose starts are
/// written into `partitioned`. Errors: those of list_chunk_tasks().
Result<TaskList> list_group_chunks(Lane& lane, Launch const& launch, std::uint32_t rows, std::uint32_t bits,
                                   PartitionedSide& partitioned);

}  // namespace garuda::cuda_backend
