// The join of resident sides without partitions: the build side sorted and indexed, probe rows looked up in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/compute/join/indexed_side.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

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
