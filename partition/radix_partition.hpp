// Radix partitioning of (key, row id) on the CPU: histogram, prefix sum, scatter.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "partition/key_encoding.hpp"

namespace garuda::partition {

inline constexpr std::uint32_t kMaxRadixBits = 16;

/// Which bits of a key choose its partition.
///   raw:   (key >> shift) & (2^bits - 1)
///   mixed: the leading `bits` of a mixing hash of the key
struct RadixDigit {
  std::uint32_t bits = 0;  ///< 0…16; 0: one partition
  std::uint32_t shift = 0;
  bool mixed = false;

  friend bool operator==(RadixDigit const&, RadixDigit const&) = default;
};

/// Partition of `key` under `digit`.
std::uint32_t partition_of(std::uint64_t key, std::uint32_t key_bits, RadixDigit digit) noexcept;

/// Decides the digit for both sides of a join from their histograms over the raw low bits: raw when no partition of
/// either side has more than `kRawBalance` × the mean and more than the mixed digit would give; mixed otherwise.
/// Cost: one histogram pass over each side for each candidate.
/// Errors: cancelled.
Result<RadixDigit> choose_digit(EncodedKeys const& left, EncodedKeys const& right, std::uint32_t bits,
                                Control const& control);

/// Keys and row ids grouped by partition; within a partition rows keep their order.
struct PartitionedKeys {
  std::uint32_t key_bits = 32;
  AlignedBuffer keys;     ///< num_rows × u32 or u64, page-aligned
  AlignedBuffer row_ids;  ///< num_rows × u32 when the table has at most 2^32 rows, else u64
  bool wide_row_ids = false;
  std::vector<std::uint64_t> offsets;  ///< partitions + 1
  struct Range {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
  };
  std::vector<Range> ranges;  ///< per partition; unspecified when it is empty

  std::uint64_t num_rows() const noexcept { return offsets.empty() ? 0 : offsets.back(); }
  std::uint32_t num_partitions() const noexcept { return static_cast<std::uint32_t>(ranges.size()); }
};

/// Partitions `keys` by `digit` on the calling task arena's threads. Stable. `keys` is not changed.
/// Errors: out_of_memory, cancelled. Source: histogram, prefix sum and scatter after Balkesen et al., ICDE 2013.
Result<PartitionedKeys> radix_partition(EncodedKeys const& keys, RadixDigit digit, Control const& control);

}  // namespace garuda::partition
