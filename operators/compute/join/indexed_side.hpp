// A side of a join in device memory, sorted by its keys and indexed, and the look-ups of the other side in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Finds the bounds of keys on the device; used by one search after the other.
class KeyBoundsSearch {
 public:
  /// Errors: limit_exceeded, out_of_memory.
  static Result<KeyBoundsSearch> create(ComputeContext& context);
  /// Finds the bounds of `rows` ≥ 1 keys of one or two words. Waits. Errors: device_failure, cancelled.
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
  /// For 1 ≤ rows ≤ 2^31 whose first payload column is their numbers, keys within `bounds`. `rows.keys` stay in place
  /// until record() has run on the device. Errors: limit_exceeded, out_of_memory.
  static Result<IndexedSide> create(ComputeContext& context, DeviceRows rows, KeyBounds bounds);

  Result<void> record(ComputeContext& context);

  /// The index that was recorded; views this side.
  KeyIndex const& index() const noexcept { return index_; }
  SortedSide const& sorted() const noexcept { return sorted_; }
  vk::Buffer const& entries() const noexcept { return entries_; }

 private:
  SortedSide sorted_;
  KeyIndex index_;
  vk::Buffer entries_;
};

/// Records the look-up of `rows` keys in an index. Invocations take a key each.
Result<void> record_look_ups(ComputeContext& context, char const* phase, KeyIndex const& index, VkDeviceAddress keys,
                             std::uint64_t rows, MatchRuns const& runs);

/// Every pipeline of index and look-ups with this tuning beside those of sorting.
std::vector<vk::ComputePipelineSpec> indexed_side_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
