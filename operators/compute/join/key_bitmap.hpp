// A bitmap over the range of one side's keys: which rows of the other side have a match, without partitions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Keys from `least` on, up to `span` above it. Keys of one word are compared by the low word of `least`, so that
/// signed ones may wrap around.
struct KeyRange {
  std::uint64_t least = 0;
  std::uint64_t span = 0;  ///< the greatest key's distance from the least

  friend bool operator==(KeyRange const&, KeyRange const&) = default;
};

/// Greatest span of a bitmap: 512 MiB.
inline constexpr std::uint64_t kMostBitmapSpan = 0xffffff00;

constexpr std::uint64_t bitmap_bytes(std::uint64_t span) noexcept { return (span + 2 + 31) / 32 * 4; }

/// Keys of one or two words, and which of them are null.
struct BitmapRows {
  std::uint64_t rows = 0;  ///< at most 2^31
  DeviceColumn keys;
  std::optional<NullFlags> nulls;
};

class KeyBitmap {
 public:
  /// For keys within `range`, its span at most kMostBitmapSpan. `null_is_key`: null matches null, else nothing. Errors:
  /// limit_exceeded, out_of_memory.
  static Result<KeyBitmap> create(ComputeContext& context, KeyRange const& range, bool null_is_key);

  /// Records that the bitmap has the keys of `rows` and no others, those beyond its range left out.
  Result<void> record_keys(ComputeContext& context, BitmapRows const& rows);
  /// The same; waits, and returns whether no two rows have the same key. Errors: device_failure, cancelled.
  Result<bool> set_unique_keys(ComputeContext& context, BitmapRows const& rows);
  /// Records the marks of rows whose key the bitmap has: a bit a row, whole words of which are written.
  Result<void> record_marks(ComputeContext& context, BitmapRows const& rows, vk::Buffer const& marks) const;

 private:
  Result<void> record_keys(ComputeContext& context, BitmapRows const& rows, VkDeviceAddress repeats);

  KeyRange range_;
  bool null_is_key_ = false;
  vk::Buffer bitmap_;
};

/// Every pipeline of these passes with this tuning.
std::vector<vk::ComputePipelineSpec> key_bitmap_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
