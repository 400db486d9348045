#include "operators/join_slices.hpp"

#include <algorithm>

namespace garuda::operators {

std::vector<SliceTask> cut_slices(std::vector<std::uint64_t> const& left_offsets,
                                  std::vector<std::uint64_t> const& right_offsets, std::uint64_t slice_rows) {
  GARUDA_EXPECTS(left_offsets.size() == right_offsets.size());
  GARUDA_EXPECTS(slice_rows > 0);
  std::vector<SliceTask> slices;
  for (std::size_t p = 0; p + 1 < left_offsets.size(); ++p) {
    for (auto left = left_offsets[p]; left < left_offsets[p + 1]; left += slice_rows) {
      auto const left_end = std::min(left + slice_rows, left_offsets[p + 1]);
      for (auto right = right_offsets[p]; right < right_offsets[p + 1]; right += slice_rows) {
        auto const right_end = std::min(right + slice_rows, right_offsets[p + 1]);
        slices.push_back({static_cast<std::uint32_t>(p), {left, left_end}, {right, right_end}});
      }
    }
  }
  return slices;
}

std::optional<std::array<SliceTask, 2>> split_slice(SliceTask const& slice) {
  if (std::max(slice.left.size(), slice.right.size()) < kSmallestSplitRows) return std::nullopt;
  std::array<SliceTask, 2> halves{slice, slice};
  auto const range = slice.left.size() >= slice.right.size() ? &SliceTask::left : &SliceTask::right;
  auto const middle = (slice.*range).begin + (slice.*range).size() / 2;
  (halves[0].*range).end = middle;
  (halves[1].*range).begin = middle;
  return halves;
}

KeySpan keys_of(partition::PartitionedKeys const& side, std::uint32_t partition, RowRange range) {
  KeySpan span;
  if (side.key_bits == 32)
    span.words = side.keys32().subspan(range.begin, range.size());
  else
    span.words = side.keys64().subspan(range.begin, range.size());
  span.min = side.ranges[partition].min;
  span.max = side.ranges[partition].max;
  return span;
}

}  // namespace garuda::operators
