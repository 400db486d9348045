// The join of resident sides without partitions: the build side sorted and indexed, probe rows looked up in it; and an
// estimate of a join's rows by the same look-ups for a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
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

/// Pairs of equal keys between two sides on the device, about: matches of a sample of 4096 probe rows among all build
/// rows, in proportion. Waits. Cost: reads the build keys once, with a look-up in a table of the sample for each. Keys
/// of the same width; no payload is read. Errors: limit_exceeded, out_of_memory, device_failure, cancelled.
Result<double> estimate_matches(ComputeContext& context, DeviceRows const& build, DeviceRows const& probe);

/// The inner join of two sides, run as often as wanted. Each probe row finds its run of matches, sums of the runs say
/// where its rows go, and every row of the result finds its probe row there: skew costs what its rows do. Payload stays
/// where it is and is read by row number. Rows come in the order of the probe rows, the matches of each in the order of
/// the build rows. Source: Wu et al. 2025, §4.1 (non-partitioned join).
class IndexedJoin {
 public:
  /// For sides of 1 to kMaxScanElements probe rows and up to 2^31 build rows, keys of the same width. Their columns
  /// stay in place while the join runs. Errors: limit_exceeded, out_of_memory.
  static Result<IndexedJoin> create(ComputeContext& context, DeviceRows build, DeviceRows probe);

  /// Records the search for the matches of every probe row. Where the bounds of the build keys are not known it reads
  /// them first, and waits for them: they say how many digits are sorted. Errors: limit_exceeded, out_of_memory,
  /// device_failure, cancelled.
  Result<void> record_matches(ComputeContext& context);
  /// Records the rows into `rows`, a side's row numbers first where it has them, then its payload. After
  /// record_matches(), as often as wanted; of rows that do not fit none are written.
  Result<void> record_rows(ComputeContext& context, JoinedRows const& rows);
  /// Records the bits of the rows of one side that have a match, by row number, into `marks`, which is zeroed; no pair
  /// is enumerated. After record_matches(). Errors: limit_exceeded, out_of_memory.
  Result<void> record_marks(ComputeContext& context, bool of_build, vk::Buffer const& marks);
  /// Waits; returns the number of rows of the join, all of which are in the columns if they fit.
  Result<std::uint64_t> finish(ComputeContext& context);

 private:
  /// Records the index of the build side: the one that is kept, or one that is made now.
  Result<void> record_index(ComputeContext& context);
  KeyIndex const& index() const { return build_rows_.index ? *build_rows_.index : build_->index(); }

  DeviceRows build_rows_;
  DeviceRows probe_rows_;
  KeyBoundsSearch search_;
  std::optional<IndexedSide> build_;  ///< where no index is kept
  MatchRuns runs_;
  vk::Buffer offsets_;  ///< first row of each probe row
  DeviceScan scan_;
  vk::Buffer columns_;
};

/// Device bytes that the join takes beside inputs and result, about.
std::uint64_t indexed_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_words,
                                 ComputeTuning const& tuning) noexcept;

/// Every pipeline of such joins with this tuning beside those of sorting and sums.
std::vector<vk::ComputePipelineSpec> indexed_join_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
