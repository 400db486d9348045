// The strings of rows brought together: lengths, their sums as offsets, then the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Rows of strings: numbers of these, and which rows are null, whose numbers may be any.
struct StringRows {
  std::uint64_t rows = 0;  ///< 1 to kMaxScanElements
  VkDeviceAddress numbers = 0;
  std::optional<NullFlags> nulls{};
};

/// Scratch memory of such gathers, used by one after another.
class StringGather {
 public:
  /// Of up to `rows` rows. Errors: limit_exceeded, out_of_memory.
  static Result<StringGather> create(ComputeContext& context, std::uint64_t rows);

  /// Writes where the bytes of each row begin, (rows + 1) × u32 modulo 2^32, to `offsets`, 16-byte aligned; waits, and
  /// returns the exact number of bytes. Errors: device_failure, cancelled.
  Result<std::uint64_t> measure(ComputeContext& context, DeviceStrings const& strings, StringRows const& rows,
                                VkDeviceAddress offsets);
  /// Records the copying of the bytes, fewer than 2^32 and at least one, in whole words to `target`.
  Result<void> record_copy(ComputeContext& context, DeviceStrings const& strings, StringRows const& rows,
                           VkDeviceAddress offsets, std::uint64_t bytes, VkDeviceAddress target);

 private:
  DeviceScan scan_;
  vk::Buffer lengths_;
  vk::Buffer sums_;
};

/// Every pipeline of the passes over strings, with this tuning.
std::vector<vk::ComputePipelineSpec> string_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
