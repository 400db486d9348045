// A side of a join in device memory, sorted by its keys and indexed, and the look-ups of the other side in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::shaders {
struct SortedBuild;
}

namespace garuda::compute {

/// Finds the bounds of keys on the device; used by one search after the other.
class KeyBoundsSearch {
 public:
  /// Errors: limit_exceeded, out_of_memory.
  static Result<KeyBoundsSearch> create(ComputeContext& context);
  /// Of `rows` ≥ 1 keys of one or two words. Waits. Errors: device_failure, cancelled.
  Result<KeyBounds> find(ComputeContext& context, char const* phase, DeviceColumn keys, std::uint64_t rows);

 private:
  vk::Buffer min_;
  vk::Buffer max_;
};

/// Where the matches of each probe row are among the sorted rows: [first, first + count), u32 each.
struct MatchRuns {
  vk::Buffer firsts;
  vk::Buffer counts;

  /// For so many probe rows. Errors: limit_exceeded, out_of_memory.
  static Result<MatchRuns> create(ComputeContext& context, std::uint64_t probe_rows);
};

/// Rows sorted by key, equal keys in the order of their rows, with an index over the leading bits in which keys differ,
/// about an entry a row: dense keys are addressed directly. Owns copy and index.
class IndexedSide {
 public:
  /// For 1 ≤ rows ≤ 2^31 with numbered rows, keys within `bounds`. `rows.keys` stay in place until record() has run on
  /// the device. Errors: limit_exceeded, out_of_memory.
  static Result<IndexedSide> create(ComputeContext& context, DeviceRows rows, KeyBounds bounds);

  Result<void> record(ComputeContext& context);
  /// Records the look-up of `rows` keys. Invocations take a key each.
  Result<void> record_matches(ComputeContext& context, char const* phase, VkDeviceAddress keys, std::uint64_t rows,
                              MatchRuns const& runs) const;

  SortedSide const& sorted() const noexcept { return sorted_; }
  std::uint64_t rows() const noexcept { return sorted_.rows(); }
  std::uint32_t key_words() const noexcept { return sorted_.key_words(); }
  KeyBounds const& bounds() const noexcept { return bounds_; }

 private:
  shaders::SortedBuild layout() const;

  SortedSide sorted_;
  KeyBounds bounds_;
  std::uint32_t index_bits_ = 0;
  std::uint32_t shift_ = 0;
  vk::Buffer index_;
};

/// Every pipeline of index and look-ups with this tuning beside those of sorting.
std::vector<vk::ComputePipelineSpec> indexed_side_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
