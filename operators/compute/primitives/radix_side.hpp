// Rows scattered by digits of their keys on the device, payload with them: one pass, and the passes that partition or
// sort one side of a join.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct PartitionPush;
}

namespace garuda::compute {

/// A column of u32 words on the device, and where its partitioned copy goes.
struct MovedColumn {
  VkDeviceAddress source = 0;
  VkDeviceAddress target = 0;
  std::uint32_t words = 1;  ///< u32 words of an element; keys: 1 or 2
};

/// The digit that a pass looks at, and how it scatters rows.
struct RadixDigit {
  std::uint32_t bits = 8;   ///< 1 to partition_bits() of the tuning, or kStableBits
  std::uint32_t shift = 0;  ///< lowest bit of the digit
  bool hashed = false;      ///< of the key's 32-bit hash (shaders/shared/hash.h), else of the key itself
  bool stable = true;       ///< rows of a bin keep their order
  bool wide = false;        ///< keys or payload columns have elements of two words or more: tiles suit these
};

/// Columns that a pass moves. With `number_rows` the first payload column is written with the rows' numbers instead of
/// read.
struct RadixRows {
  std::uint64_t rows = 0;  ///< at most 2^31
  MovedColumn keys;
  std::vector<MovedColumn> payload;
  bool number_rows = false;
};

/// Names of a pass's phases; they outlive the submissions.
struct RadixPhases {
  char const* count = "histogram";
  char const* scan = "scan";
  char const* scatter = "scatter";
};

/// Segments of an array that a pass scatters one by one, each into bins of its own.
struct Segments {
  vk::Buffer const* starts = nullptr;  ///< (count + 1) × u32, not decreasing
  std::uint32_t count = 1;
};

class RadixPass;

/// A pass over rows of its own, beside others.
struct RadixJob {
  RadixPass* pass = nullptr;
  RadixRows rows;
  Segments segments;
};

/// Scratch memory of one pass; not reused before the device is done with it.
class RadixPass {
 public:
  /// For up to `rows` rows in `segments` segments. Errors: limit_exceeded, out_of_memory.
  static Result<RadixPass> create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                  RadixDigit const& digit, std::uint32_t payload_columns);

  /// Device bytes that a pass takes, about.
  static std::uint64_t scratch_bytes(std::uint64_t rows, std::uint32_t segments, std::uint32_t bits, bool stable,
                                     ComputeTuning const& tuning) noexcept;

  /// Records the pass. Without `segments.starts` the whole array is one segment. Rows ≥ 1.
  Result<void> record(ComputeContext& context, RadixPhases const& phases, RadixRows const& rows,
                      Segments const& segments = {});

  /// Records several independent passes, step by step for all of them, so that one
  /// works where another leaves the device idle. Their record_clears() have been recorded.
  static Result<void> record_side_by_side(ComputeContext& context, RadixPhases const& phases,
                                          std::span<RadixJob const> jobs);
  /// Records what can be written before the rows of the pass are there. `independent`: of everything since the last
  /// barrier.
  Result<void> record_clears(ComputeContext& context, char const* phase, RadixRows const& rows, bool independent);

  /// Records the first part of a pass over one segment alone: how many keys of each chunk have each digit.
  Result<void> record_counts(ComputeContext& context, char const* phase, RadixRows const& rows);

  /// First row of each bin, (segments × bins + 1) × u32, bins of a segment together, the number of rows last.
  vk::Buffer const& starts() const noexcept { return starts_; }
  std::uint32_t num_starts() const noexcept { return segments_ << digit_.bits; }

 private:
  shaders::PartitionPush push_for(RadixRows const& rows, Segments const& segments) const;
  Result<void> record_chunk_counts(ComputeContext& context, char const* phase, RadixJob const& job, bool independent);
  Result<void> record_sums(ComputeContext& context, char const* phase, RadixJob const& job, bool independent);
  /// Cells of the matrix.
  std::uint64_t num_sums(shaders::PartitionPush const& push) const;
  Result<void> record_starts(ComputeContext& context, char const* phase, shaders::PartitionPush const& push,
                             Segments const& segments, bool independent);
  Result<void> record_scatter(ComputeContext& context, char const* phase, RadixJob const& job, bool independent);

  RadixDigit digit_;
  std::uint32_t segments_ = 1;
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t max_chunks_ = 0;
  std::uint32_t chunks_each_ = 1;  ///< that a workgroup counts
  vk::Buffer columns_;
  vk::Buffer matrix_;
  vk::Buffer sums_;
  ChunkTable chunks_;  // where there are several segments
  vk::Buffer starts_;
  DeviceScan scan_;
};

/// A column on the device, as the caller has it.
struct DeviceColumn {
  VkDeviceAddress address = 0;
  std::uint32_t words = 1;  ///< u32 words of an element
};

/// Least and greatest of keys, as unsigned numbers.
struct KeyBounds {
  std::uint64_t min = 0;
  std::uint64_t max = 0;

  /// The lowest bits that hold all differences between such keys.
  std::uint32_t differing_bits() const noexcept { return static_cast<std::uint32_t>(std::bit_width(min ^ max)); }
  friend bool operator==(KeyBounds const&, KeyBounds const&) = default;
};

/// Keys in their order, the rows that they are of, and an index over the leading bits in which they differ: as
/// IndexedSide makes it and tables of a device keep it. Views memory.
struct KeyIndex {
  VkDeviceAddress keys = 0;
  VkDeviceAddress numbers = 0;  ///< u32, of the rows that the keys are of
  VkDeviceAddress entries = 0;  ///< u32, the first key of each value of the index's bits, and the number of keys
  std::uint64_t rows = 0;       ///< ≥ 1; rows without a key are left out
  std::uint32_t key_words = 1;
  KeyBounds bounds;
  std::uint32_t bits = 0;   ///< that entries are addressed by
  std::uint32_t shift = 0;  ///< bits below these

  std::uint64_t num_entries() const noexcept { return (std::uint64_t{1} << bits) + 1; }
};

/// Rows of a side on the device: keys of one or two words, and the columns that move with them.
struct DeviceRows {
  std::uint64_t rows = 0;
  DeviceColumn keys;
  std::vector<DeviceColumn> payload;
  /// Moves the rows' numbers besides, as the first payload column.
  bool number_rows = false;
  std::optional<KeyBounds> bounds{};  ///< of the keys, where they are known
  std::optional<KeyIndex> index{};    ///< of the rows, where it is kept
};

/// Radix bits of each pass for partitions by `bits` bits in all, `most` a pass; the top bits of the hash first.
std::vector<std::uint32_t> bits_of_passes(std::uint32_t bits, std::uint32_t most);

/// Device bytes of the counts and sums of digits that partitioning `rows` rows by `bits` bits takes, about.
std::uint64_t radix_scratch_bytes(std::uint64_t rows, std::uint32_t bits, ComputeTuning const& tuning) noexcept;

/// Owns a copy of a side's rows in the order in which its passes left them.
class MovedSide {
 public:
  std::uint64_t rows() const noexcept { return rows_.rows; }
  /// Where the rows come from.
  DeviceRows const& columns() const noexcept { return rows_; }
  std::uint32_t key_words() const noexcept { return rows_.keys.words; }
  vk::Buffer const& keys() const noexcept { return copies_[last_].keys; }
  /// Payload columns, the rows' numbers first where they were asked for.
  vk::Buffer const& payload(std::size_t column) const { return copies_[last_].payload.at(column); }
  std::size_t num_payload() const noexcept { return rows_.payload.size() + (rows_.number_rows ? 1 : 0); }
  /// u32 words of an element of payload column `column`.
  std::uint32_t payload_words(std::size_t column) const;

 protected:
  /// Takes memory for passes by `digits`. `segmented`: each scatters the bins of the one before out one by one.
  Result<void> take(ComputeContext& context, DeviceRows rows, std::span<RadixDigit const> digits, bool segmented);
  RadixRows moved_by(std::size_t pass) const;

  struct Copy {
    vk::Buffer keys;
    std::vector<vk::Buffer> payload;
  };
  /// Takes rows that lie as passes would leave them.
  void take_moved(DeviceRows rows, Copy moved);

  DeviceRows rows_;
  std::vector<RadixPass> passes_;

 private:
  std::array<Copy, 2> copies_;  // passes write them in turn
  std::size_t last_ = 0;
};

/// Rows that the host has scattered by a digit of its own: keys of one or two words, their rows' numbers in the side
/// (rows × u32), and where partitions begin ((2^bits + 1) × u32).
struct ScatteredRows {
  std::uint64_t rows = 0;  ///< at least 1
  std::uint32_t key_words = 1;
  std::uint32_t bits = 0;
  vk::Buffer keys;
  vk::Buffer numbers;
  vk::Buffer starts;
};

/// Partition p holds the rows whose hash starts with the bits of p, in any order.
class PartitionedSide : public MovedSide {
 public:
  /// A side that is partitioned already: recording it records nothing. Joined with one scattered by the same digit.
  explicit PartitionedSide(ScatteredRows scattered);
  PartitionedSide() = default;

  /// For 1 ≤ rows ≤ 2^31 and 1 ≤ bits ≤ 24. The columns of `rows` stay in place until record() has run on the device.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<PartitionedSide> create(ComputeContext& context, DeviceRows rows, std::uint32_t bits);

  Result<void> record(ComputeContext& context);
  /// Records several sides with as many partitions, side by side.
  static Result<void> record_side_by_side(ComputeContext& context, std::span<PartitionedSide* const> sides);
  /// Records other rows: of the same shape, at least one, at most as many as the side was made for.
  Result<void> record(ComputeContext& context, DeviceRows rows);

  std::uint32_t num_partitions() const noexcept { return 1U << bits_; }
  /// (num_partitions() + 1) × u32.
  vk::Buffer const& starts() const noexcept { return passes_.empty() ? scattered_starts_ : passes_.back().starts(); }
  std::uint32_t bits() const noexcept { return bits_; }

 private:
  RadixJob job_of(std::size_t pass);

  std::uint64_t most_rows_ = 0;
  std::uint32_t bits_ = 0;
  vk::Buffer scattered_starts_;
};

/// Rows sorted by their keys, those that are equal in the bits sorted by in the order of their rows. By stable passes
/// from the lowest digit on; digits in which no keys differ are left out.
class SortedSide : public MovedSide {
 public:
  /// For 1 ≤ rows ≤ 2^31, by the lowest `bits` bits of the keys. The columns of `rows` stay in place until record() has
  /// run on the device. Errors: limit_exceeded, out_of_memory.
  static Result<SortedSide> create(ComputeContext& context, DeviceRows rows, std::uint32_t bits);

  Result<void> record(ComputeContext& context);

  /// The rows' numbers, where they were asked for.
  vk::Buffer const& numbers() const { return payload(0); }
};

/// Every pipeline of radix passes with this tuning.
std::vector<vk::ComputePipelineSpec> radix_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
