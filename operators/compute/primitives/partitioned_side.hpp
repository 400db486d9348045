// One side of a join, partitioned on the device by the hash of its keys, in as many passes as its partitions need.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/compute/primitives/radix_pass.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::compute {

/// A column on the device, as the caller has it.
struct DeviceColumn {
  VkDeviceAddress address = 0;
  std::uint32_t words = 1;  ///< u32 words of an element
};

/// Rows of a side on the device: keys of one or two words, and the columns that move with them.
struct DeviceRows {
  std::uint64_t rows = 0;
  DeviceColumn keys;
  std::vector<DeviceColumn> payload;
  /// Moves the rows' numbers besides, as the first payload column.
  bool number_rows = false;
};

/// Radix bits of each pass for partitions by `bits` bits in all, `most` a pass; the top bits of the hash first.
std::vector<std::uint32_t> bits_of_passes(std::uint32_t bits, std::uint32_t most);

/// Device bytes of the counts and sums of digits that partitioning `rows` rows by `bits` bits takes, about.
std::uint64_t radix_scratch_bytes(std::uint64_t rows, std::uint32_t bits, ComputeTuning const& tuning) noexcept;

/// Owns the partitioned copy. Partition p holds the rows whose hash starts with the bits of p, in any order.
class PartitionedSide {
 public:
  /// For 1 ≤ rows ≤ 2^31 and 1 ≤ bits ≤ 24. The columns of `rows` stay in place until record() has run on the device.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<PartitionedSide> create(ComputeContext& context, DeviceRows rows, std::uint32_t bits);

  Result<void> record(ComputeContext& context);
  /// The same of several sides with as many partitions, side by side.
  static Result<void> record_side_by_side(ComputeContext& context, std::span<PartitionedSide* const> sides);
  /// The same for other rows: of the same shape, at least one, at most as many as it was made for.
  Result<void> record(ComputeContext& context, DeviceRows rows);

  std::uint64_t rows() const noexcept { return rows_.rows; }
  /// Where the rows that it partitions come from.
  DeviceRows const& columns() const noexcept { return rows_; }
  std::uint32_t key_words() const noexcept { return rows_.keys.words; }
  std::uint32_t num_partitions() const noexcept { return 1U << bits_; }
  vk::Buffer const& keys() const noexcept { return copies_[last_].keys; }
  /// Payload columns, the rows' numbers first where they were asked for.
  vk::Buffer const& payload(std::size_t column) const { return copies_[last_].payload.at(column); }
  std::size_t num_payload() const noexcept { return rows_.payload.size() + (rows_.number_rows ? 1 : 0); }
  /// u32 words of an element of payload column `column`.
  std::uint32_t payload_words(std::size_t column) const;
  /// (num_partitions() + 1) × u32.
  vk::Buffer const& starts() const noexcept { return passes_.back().starts(); }

 private:
  struct Copy {
    vk::Buffer keys;
    std::vector<vk::Buffer> payload;
  };

  RadixRows moved_by(std::size_t pass) const;
  RadixJob job_of(std::size_t pass);

  DeviceRows rows_;
  std::uint64_t most_rows_ = 0;
  std::uint32_t bits_ = 0;
  std::vector<RadixPass> passes_;
  std::array<Copy, 2> copies_;  // passes write them in turn
  std::size_t last_ = 0;
};

}  // namespace garuda::compute
