// Radix partitioning of keys with row ids and payload on the CPU: histogram, prefix sum, scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/instruction_set.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/encoded_keys.hpp"

namespace garuda::partition {

inline constexpr std::uint32_t kMaxRadixBits = 16;
/// Most radix bits of one pass unless told: the lines of one task's write buffers that are written at a time, one a
/// partition and stream, stay within half of a second-level cache.
inline constexpr std::uint32_t kOnePassBits = 12;

/// A partition is too full when it has more than kRawBalance × the mean and kBalanceSlackRows more: small partitions of
/// random keys vary that much by themselves.
inline constexpr std::uint64_t kRawBalance = 2;
inline constexpr std::uint64_t kBalanceSlackRows = 64;
/// Share of a side's rows, 1 / kMixedGain, that a mixed digit must take out of too full partitions to be chosen.
inline constexpr std::uint64_t kMixedGain = 256;

/// Which bits of a key choose its partition.
///   raw:   (key >> shift) & (2^bits - 1)
///   mixed: `bits` bits of a mixing hash of the key, after its `shift` leading ones
struct RadixDigit {
  std::uint32_t bits = 0;  ///< 0…16; 0: one partition
  std::uint32_t shift = 0;
  bool mixed = false;

  friend bool operator==(RadixDigit const&, RadixDigit const&) = default;
};

/// Partition of `key` under `digit`.
std::uint32_t partition_of(std::uint64_t key, RadixDigit digit) noexcept;

/// Number of lowest bits that all keys of one partition have in common under a digit from `choose_digit`: shift + bits
/// of a raw digit, since `choose_digit` shifts only over bits that are equal in all keys; 0 of a mixed one.
std::uint32_t shared_low_bits(RadixDigit digit) noexcept;

/// How many keys each chunk of consecutive keys has in each partition: counted once, by choose_digit or by
/// radix_partition itself.
struct DigitCounts {
  RadixDigit digit;
  std::uint64_t chunks = 0;  ///< 0: not counted
  AlignedBuffer counts;      ///< chunks × partitions × u64
};

struct DigitChoice {
  RadixDigit digit;
  DigitCounts left;
  DigitCounts right;
};

/// Decides the digit for both sides of a join from their histograms. The raw digit is the lowest `bits` bits above
/// those that all keys of both sides share (strided keys), so that partitions stay dense and keep their low bits in
/// common; the mixed one is taken when the raw one puts clearly more rows of a side into too full partitions: a heavy
/// key alone, which no digit can split, does not count against the raw digit. The counts are those of the digit where
/// it was counted, for radix_partition to use. Cost: no pass for bits = 0, else a histogram pass over each side, and
/// another one when the raw digit does not balance. Requires bits <= kMaxRadixBits, sides of one width.
/// Errors: out_of_memory, cancelled.
Result<DigitChoice> choose_digit(keys::EncodedKeys const& left, keys::EncodedKeys const& right, std::uint32_t bits,
                                 Control const& control);

/// A fixed-width column that is moved along with the keys. Borrowed.
struct PayloadColumn {
  struct Part {
    std::uint64_t first_row = 0;  ///< of the table
    std::byte const* values = nullptr;
  };
  std::uint32_t width = 4;  ///< bytes of a value: 1, 2, 4, 8 or 16
  std::vector<Part> parts;  ///< ascending, each with rows, together all rows of the table
  /// Where values do not lie there as they move: writes those of `count` rows from `first` on, side by side. Called by
  /// several threads.
  std::function<void(std::uint64_t first, std::size_t count, std::byte* to)> make = {};
};

/// The place of each column among those that move: columns of one width that lie in the same memory move once. nullopt:
/// the column has no parts, so it does not move.
std::vector<std::optional<std::size_t>> payload_places(std::span<PayloadColumn const> columns);

/// Options of radix_partition. Payload and row ids are semantics, the others change speed only.
struct PartitionOptions {
  std::span<PayloadColumn const> payload;
  bool row_ids = true;  ///< false: the result has none, unless nothing is moved (digit.bits = 0)
  /// true: the result's ranges are as narrow as its partitions' keys, which costs a pass over these unless they are
  /// dense; false: sparse keys' are the range of all keys.
  bool ranges = false;
  DigitCounts counts;  ///< used when they are of these keys, by the same digit
  InstructionSet instructions = best_instruction_set();
  std::uint32_t one_pass_bits = 0;  ///< most radix bits of one pass, 1…16; 0: by the size of a second-level cache
};

/// Keys and row ids grouped by partition; within a partition rows keep their order.
struct PartitionedKeys {
  std::uint32_t key_bits = 32;
  bool wide_row_ids = false;
  void const* keys = nullptr;     ///< num_rows × u32 or u64; page-aligned unless borrowed from a column
  void const* row_ids = nullptr;  ///< num_rows × u32 (u64 when wide_row_ids); nullptr: key i is row i of the table
  AlignedBuffer owned_keys;       ///< empty when `keys` is borrowed
  AlignedBuffer owned_row_ids;
  std::vector<AlignedBuffer> payload;  ///< a column: num_rows × width, in the order of `keys`; none when borrowed
  std::vector<std::uint64_t> offsets;  ///< partitions + 1
  struct Range {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
  };
  /// Per partition: bounds of its keys, see PartitionOptions::ranges; unspecified when it is empty.
  std::vector<Range> ranges;

  /// The same keys and row ids without payload; refers to those of this object, or of whom it borrows from.
  PartitionedKeys borrowed() const {
    PartitionedKeys same;
    same.key_bits = key_bits;
    same.wide_row_ids = wide_row_ids;
    same.keys = keys;
    same.row_ids = row_ids;
    same.offsets = offsets;
    same.ranges = ranges;
    return same;
  }

  std::uint64_t num_rows() const noexcept { return offsets.empty() ? 0 : offsets.back(); }
  std::uint32_t num_partitions() const noexcept { return static_cast<std::uint32_t>(ranges.size()); }
  std::uint64_t owned_bytes() const noexcept {
    auto bytes = owned_keys.size_bytes() + owned_row_ids.size_bytes();
    for (auto const& column : payload) bytes += column.size_bytes();
    return static_cast<std::uint64_t>(bytes);
  }

  std::span<std::uint32_t const> keys32() const noexcept {
    return {static_cast<std::uint32_t const*>(keys), key_bits == 32 ? num_rows() : 0};
  }
  std::span<std::uint64_t const> keys64() const noexcept {
    return {static_cast<std::uint64_t const*>(keys), key_bits == 64 ? num_rows() : 0};
  }
  /// Row of the table that key `i` belongs to. Requires i < num_rows().
  std::uint64_t row_id(std::uint64_t i) const noexcept {
    if (row_ids == nullptr) return i;
    return wide_row_ids ? static_cast<std::uint64_t const*>(row_ids)[i] : static_cast<std::uint32_t const*>(row_ids)[i];
  }
};

/// Partitions `keys` by `digit` on the threads of the calling task arena. Stable. Takes `keys` over: with bits = 0
/// nothing is copied, its buffers become the result's, payload stays where it is; otherwise they are freed on return.
/// What `keys` borrowed from a table stays borrowed with bits = 0.
/// More bits than one pass takes are done in two, the leading ones first, which needs the result's memory once more
/// meanwhile. Memory beside the result otherwise: chunks × partitions counters, and about 2 MiB a thread of buffers.
/// Requires digit.bits <= kMaxRadixBits; shift + bits at most 64, for a raw digit at most the key's width.
/// Errors: out_of_memory, cancelled. Source: histogram, prefix sum and scatter through write-combining buffers after
/// Balkesen et al., ICDE 2013; payload in the order of partitions after Wu et al. 2025, §4.
Result<PartitionedKeys> radix_partition(keys::EncodedKeys keys, RadixDigit digit, Control const& control,
                                        PartitionOptions options = {});

}  // namespace garuda::partition
