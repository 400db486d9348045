// Rows sorted by their keys on the device.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "operators/compute/primitives/partitioned_side.hpp"
#include "operators/compute/primitives/radix_pass.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::compute {

/// Owns the sorted copy: keys and the columns that move with them, keys that are equal in the bits sorted by in the
/// order of their rows. By stable partitions from the lowest digit on; digits in which no keys differ are left out.
class SortedSide {
 public:
  /// For 1 ≤ rows ≤ 2^31, by the lowest `bits` bits of the keys. The columns of `rows` stay in place until record() has
  /// run on the device. Errors: limit_exceeded, out_of_memory.
  static Result<SortedSide> create(ComputeContext& context, DeviceRows rows, std::uint32_t bits);

  Result<void> record(ComputeContext& context);

  std::uint64_t rows() const noexcept { return rows_.rows; }
  std::uint32_t key_words() const noexcept { return rows_.keys.words; }
  vk::Buffer const& keys() const noexcept { return copies_[last_].keys; }
  /// The rows' numbers, where they were asked for.
  vk::Buffer const& numbers() const { return copies_[last_].payload.at(0); }
  /// Columns that moved, the rows' numbers first where they were asked for.
  vk::Buffer const& payload(std::size_t column) const { return copies_[last_].payload.at(column); }

 private:
  struct Copy {
    vk::Buffer keys;
    std::vector<vk::Buffer> payload;
  };

  RadixRows moved_by(std::size_t pass) const;
  std::uint32_t words_of(std::size_t column) const;

  DeviceRows rows_;
  std::vector<RadixPass> passes_;
  std::array<Copy, 2> copies_;  // passes write them in turn
  std::size_t last_ = 0;
};

}  // namespace garuda::compute
