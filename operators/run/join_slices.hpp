// Cuts partition pairs into build × probe slices that one pass can take.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "operators/contract/sizing.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::run {

/// Rows [begin, end) of the partitioned keys of one side.
struct RowRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const noexcept { return end - begin; }
  friend bool operator==(RowRange const&, RowRange const&) = default;
};

/// One unit of work: a slice of each side of one partition.
struct SliceTask {
  std::uint32_t partition = 0;
  RowRange left;
  RowRange right;
  /// The side to build on, when the slices of a partition share it; nullopt: the path decides.
  std::optional<Side> build = std::nullopt;

  friend bool operator==(SliceTask const&, SliceTask const&) = default;
};

/// Cuts every partition with rows on both sides into slices of at most `slice_rows` rows a side, in partition order,
/// the left side outermost. `left_offsets`, `right_offsets`: partitions + 1 positions each.
std::vector<SliceTask> cut_slices(std::vector<std::uint64_t> const& left_offsets,
                                  std::vector<std::uint64_t> const& right_offsets, std::uint64_t slice_rows);

/// Bounds of slices that share a build side.
struct ProbeSliceRows {
  std::uint64_t build = 0;
  std::uint64_t probe = 0;
};

/// Cuts every partition with rows on both sides into slices that share their build side: the one that `build` names,
/// else the smaller one, or `favoured` where neither side has more than twice the other's rows; in pieces of at most
/// `rows.build` rows, each against the other side in pieces of at most `rows.probe`. In partition order, the build side
/// outermost.
std::vector<SliceTask> cut_probe_slices(std::vector<std::uint64_t> const& left_offsets,
                                        std::vector<std::uint64_t> const& right_offsets, ProbeSliceRows rows,
                                        BuildSide build, std::optional<Side> favoured = std::nullopt);

/// Positions in `slices` that cut them into tasks of consecutive slices with about `rows` rows of their larger sides,
/// first 0, last the number of slices.
std::vector<std::size_t> group_slices(std::vector<SliceTask> const& slices, std::uint64_t rows);

/// Halves the larger side of `slice`; nullopt when it is too small to split.
std::optional<std::array<SliceTask, 2>> split_slice(SliceTask const& slice);

/// The keys of `range`, within `partition`, as a kernel takes them.
contract::KeySpan keys_of(partition::PartitionedKeys const& side, std::uint32_t partition, RowRange range);

}  // namespace garuda::run
