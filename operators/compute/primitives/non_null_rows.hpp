// The rows of a side on the device whose key is not null.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// A word of flags a row: bit `bit` says that the key is null.
struct NullFlags {
  VkDeviceAddress words = 0;
  std::uint32_t bit = 0;
};

/// Owns a copy of a side without the rows whose key is null: null keys match nothing. Used for one set of rows after
/// the other.
class NonNullRows {
 public:
  /// For 1 ≤ rows ≤ kMaxScanElements with the columns of `shape`; with `shape.number_rows` the copy has the numbers
  /// that the rows had as its first payload column. Errors: limit_exceeded, out_of_memory.
  static Result<NonNullRows> create(ComputeContext& context, DeviceRows const& shape);

  /// Copies; waits for the number of rows. `rows`: of the shape, at most as many. Returns the copy, whose rows are in
  /// their order, perhaps none. Errors: device_failure, cancelled.
  Result<DeviceRows> copy(ComputeContext& context, DeviceRows const& rows, NullFlags flags);
  /// A side as copy() returns it, of as many rows as it was made for.
  DeviceRows shape() const;

 private:
  DeviceRows target(std::uint64_t rows) const;

  std::uint64_t most_rows_ = 0;
  bool numbers_rows_ = false;
  std::uint32_t key_words_ = 1;
  std::vector<std::uint32_t> words_;  ///< of the payload
  DeviceScan scan_;
  vk::Buffer flags_;
  vk::Buffer state_;
  std::optional<LateGather> gather_;  ///< keys, then payload
  std::vector<vk::Buffer> columns_;   ///< copies of these
};

/// The pass that finds the rows.
PassShape non_null_shape();

}  // namespace garuda::compute
