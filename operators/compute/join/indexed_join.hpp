// The join of resident sides without partitions: the build side sorted and indexed, probe rows looked up in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/join/indexed_side.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/device_scan.hpp"
#include "vk_runtime/memory.hpp"

namespace garuda::compute {

/// The inner join of two sides, run as often as wanted. Each probe row finds its run of matches, sums of the runs say
/// where its rows go, and every row of the result finds its probe row there: skew costs what its rows do. Payload stays
/// where it is and is read by row number. Rows come in the order of the probe rows, the matches of each in the order of
/// the build rows; with `sort_probe` in the order of the keys first, as unsigned numbers. Source: Wu et al. 2025, §4.1
/// (non-partitioned and sort-merge joins).
class IndexedJoin {
 public:
  /// For sides of 1 to kMaxScanElements probe rows and up to 2^31 build rows, keys of the same width. Their columns
  /// stay in place while the join runs. Errors: limit_exceeded, out_of_memory.
  static Result<IndexedJoin> create(ComputeContext& context, DeviceRows build, DeviceRows probe, bool sort_probe);

  /// Records the join into `rows`, payload columns in the order of their sides. Reads the bounds of the build keys
  /// first, and waits for them: they say how many digits are sorted. Errors: limit_exceeded, out_of_memory,
  /// device_failure, cancelled.
  Result<void> record(ComputeContext& context, JoinedRows const& rows);
  /// Waits; returns the number of rows of the join, all of which are in the columns if they fit.
  Result<std::uint64_t> finish(ComputeContext& context);
  /// Records the rows again, for columns with room for all of them. After finish().
  Result<void> record_rows(ComputeContext& context, JoinedRows const& rows);

 private:
  Result<void> find_bounds(ComputeContext& context);

  DeviceRows build_rows_;
  DeviceRows probe_rows_;
  bool sort_probe_ = false;
  KeyBoundsSearch search_;
  std::optional<IndexedSide> build_;
  std::optional<SortedSide> probe_;  ///< where it is sorted
  MatchRuns runs_;
  vk::Buffer offsets_;  ///< first row of each probe row
  DeviceScan scan_;
  vk::Buffer columns_;
};

/// Device bytes that the join takes beside inputs and result, about.
std::uint64_t indexed_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_words,
                                 bool sort_probe, ComputeTuning const& tuning) noexcept;

/// The pass that writes the result, for keys of `key_words` words.
PassShape expand_rows_shape(std::uint32_t key_words);

}  // namespace garuda::compute
