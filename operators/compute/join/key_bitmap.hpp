// A bitmap over the range of one side's keys: which rows of the other side have a match, without partitions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct KeyBitmapPush;
}

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

/// Leading bits by which the keys of a bitmap are scattered before their bits are set, so that a piece of it lies in
/// shared memory: about as many as asked for, or, of a tuning that asks for none, as the passes are fastest with.
/// 0: the bitmap is too small or too large for that.
std::uint32_t piece_bits(std::uint64_t span, std::int32_t asked, ComputeTuning const& tuning) noexcept;

/// Keys of one or two words, and which of them are null.
struct BitmapRows {
  std::uint64_t rows = 0;  ///< at most 2^31
  DeviceColumn keys;
  std::optional<NullFlags> nulls;
};

class KeyBitmap {
 public:
  /// For keys within `range`, its span at most kMostBitmapSpan. `null_is_key`: null matches null, else nothing.
  /// `scattered_by`: what piece_bits() says, by which keys are scattered first where no rows are null; 0: by none.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<KeyBitmap> create(ComputeContext& context, KeyRange const& range, bool null_is_key,
                                  std::uint32_t scattered_by = 0);

  /// Records that the bitmap has the keys of `rows` and no others, those beyond its range left out.
  Result<void> record_keys(ComputeContext& context, BitmapRows const& rows);
  /// record_keys() that waits and returns whether no two rows have the same key. Errors: device_failure, cancelled.
  Result<bool> set_unique_keys(ComputeContext& context, BitmapRows const& rows);
  /// Records the marks of rows whose key the bitmap has: a bit a row, whole words of which are written.
  Result<void> record_marks(ComputeContext& context, BitmapRows const& rows, vk::Buffer const& marks) const;

 private:
  /// Keys that were scattered, and what that takes.
  struct ScatteredKeys {
    RadixPass pass;
    vk::Buffer keys;
    ChunkTable chunks;
  };

  shaders::KeyBitmapPush push_for(BitmapRows const& rows) const;
  Result<void> record_keys(ComputeContext& context, BitmapRows const& rows, VkDeviceAddress repeats);
  Result<void> record_pieces(ComputeContext& context, BitmapRows const& rows);
  /// Values that have a bit.
  std::uint64_t num_slots() const noexcept;
  /// Bits of a value within its piece.
  std::uint32_t bits_of_piece() const noexcept;

  KeyRange range_;
  bool null_is_key_ = false;
  std::uint32_t scattered_by_ = 0;
  vk::Buffer bitmap_;
  std::optional<ScatteredKeys> scattered_;  // until the passes have run
};

/// Every pipeline of these passes with this tuning.
std::vector<vk::ComputePipelineSpec> key_bitmap_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
