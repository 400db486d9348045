// One side of a join, sorted by its keys on the device.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "operators/compute/partitioned_side.hpp"
#include "operators/compute/radix_pass.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::operators {

/// Owns the sorted copy: keys and row numbers, keys that are equal in the bits sorted by in the order of their rows. By
/// stable partitions from the lowest digit on; digits in which no keys differ are left out.
class SortedSide {
 public:
  /// For 1 ≤ rows ≤ 2^31 with numbered rows and no payload, by the lowest `bits` bits of the keys.
  /// `rows.keys` stay in place until record() has run on the device. Errors: limit_exceeded, out_of_memory.
  static Result<SortedSide> create(ComputeContext& context, DeviceRows rows, std::uint32_t bits);

  Result<void> record(ComputeContext& context);

  std::uint64_t rows() const noexcept { return rows_.rows; }
  std::uint32_t key_words() const noexcept { return rows_.keys.words; }
  vk::Buffer const& keys() const noexcept { return copies_[last_].keys; }
  vk::Buffer const& numbers() const noexcept { return copies_[last_].numbers; }

 private:
  struct Copy {
    vk::Buffer keys;
    vk::Buffer numbers;
  };

  DeviceRows rows_;
  std::vector<RadixPass> passes_;
  std::array<Copy, 2> copies_;  // passes write them in turn
  std::size_t last_ = 0;
};

}  // namespace garuda::operators
