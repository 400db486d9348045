#include "cuda_backend/group_chunks.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace garuda::cuda_backend {
namespace {

constexpr std::uint32_t kChunksEach = 16;  // a multiprocessor
constexpr std::uint32_t kSmallestChunk = 8192;
constexpr std::uint32_t kLargestChunk = 1U << 17;
constexpr std::uint64_t kFewestSlots = 1U << 14;

}  // namespace

std::uint32_t log2_at_least(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(value, 2) - 1));
}

std::uint32_t group_chunk_rows(std::uint32_t rows, std::uint32_t multiprocessors) noexcept {
  return std::clamp(rows / (multiprocessors * kChunksEach), kSmallestChunk, kLargestChunk);
}

std::uint32_t group_table_bits(std::uint32_t rows, std::uint32_t bits, std::uint64_t expected_groups,
                               std::uint32_t chunk_rows) noexcept {
  auto const partition_rows = rows >> bits;
  auto const in_table = partition_rows + partition_rows / 4 <= chunk_rows ? expected_groups / 64 : expected_groups;
  return log2_at_least(std::max(4 * in_table, kFewestSlots));
}

Result<TaskList> list_group_chunks(Lane& lane, Launch const& launch, std::uint32_t rows, std::uint32_t bits,
                                   PartitionedSide& partitioned) {
  if (bits == 0) {
    GARUDA_TRY_ASSIGN(partitioned.starts, lane.allocate(8, "partitions"));
    std::uint32_t const starts[]{0, rows};
    GARUDA_TRY(lane.upload(partitioned.starts.as<void>(), std::as_bytes(std::span(starts))));
  }
  TaskShape shape;
  shape.build_starts = partitioned.starts.as<std::uint32_t>();
  shape.partitions = 1U << bits;
  shape.build_chunk = group_chunk_rows(rows, launch.multiprocessors);
  return list_chunk_tasks(lane, launch, shape);
}

}  // namespace garuda::cuda_backend
