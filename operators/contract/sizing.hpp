// Sizes that every operator's planner decides.
#pragma once

#include <algorithm>
#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/contract/key_span.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::contract {

inline constexpr std::uint64_t kSmallestDeviceSliceRows = 4096;
/// Unless a planner prices others.
inline constexpr std::uint64_t kLargestChunkRows = std::uint64_t{1} << 19;
inline constexpr std::uint64_t kSmallestChunkRows = 1024;
/// Where so many rows take more, a chunk has fewer: values may have megabytes each.
inline constexpr std::uint64_t kSmallestChunkBytes = std::uint64_t{4} << 20;
/// Most bytes of a batch of wide rows that a lane of the host makes: as many wait for the consumer, and memory that
/// nobody has used yet costs more than filling it.
inline constexpr std::uint64_t kLargestBatchBytes = std::uint64_t{16} << 20;
/// Tasks of the CPU path: several a lane, so that lanes end together, but not so small that batches get tiny.
inline constexpr std::uint64_t kTasksPerLane = 8;
inline constexpr std::uint64_t kSmallestTaskRows = std::uint64_t{1} << 15;
/// Largest build side for which every lane of the CPU path makes a table of its own: partitions of 2^16 rows, and what
/// chance adds to some of them. Larger ones are made one at a time, for all lanes.
inline constexpr std::uint64_t kLaneTableRows = (std::uint64_t{1} << 16) + (std::uint64_t{1} << 12);
/// Fewest rows of the larger side that a slice is still split at when it does not fit the device.
inline constexpr std::uint64_t kSmallestSplitRows = 1024;

/// The side that tables are built on: the one that is asked for, else `otherwise`.
constexpr Side build_side(BuildSide asked, Side otherwise) noexcept {
  if (asked == BuildSide::automatic) return otherwise;
  return asked == BuildSide::left ? Side::left : Side::right;
}

/// True for an error after which smaller slices may fit.
inline bool is_shortage(Error const& error) noexcept {
  return error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::limit_exceeded;
}

/// Smallest radix bits that bring `rows` to at most `target` a partition.
constexpr std::uint32_t radix_bits_for(std::uint64_t rows, std::uint64_t target) noexcept {
  std::uint32_t bits = 0;
  while (bits < partition::kMaxRadixBits && (rows >> bits) > target) ++bits;
  return bits;
}

/// Rows of a chunk when each takes `row_bytes` of the `free_bytes` left, at most `most`.
constexpr std::uint64_t chunk_rows_for(std::uint64_t free_bytes, std::uint64_t row_bytes,
                                       std::uint64_t most = kLargestChunkRows) noexcept {
  auto const least = std::clamp<std::uint64_t>(kSmallestChunkBytes / row_bytes, 1, kSmallestChunkRows);
  return std::clamp(free_bytes / 4 / row_bytes, std::min(least, most), most);
}

/// Batches that wait for their turn while lanes work on: a lane that took long holds up nobody, where memory is not
/// limited.
inline std::uint64_t waiting_chunks(std::uint64_t memory_limit_bytes, std::uint32_t lanes) noexcept {
  return memory_limit_bytes != 0 ? 2 : std::max<std::uint64_t>(lanes, 2);
}

}  // namespace garuda::contract
