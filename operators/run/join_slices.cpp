#include "operators/run/join_slices.hpp"

#include <algorithm>

namespace garuda::run {
namespace {

Side build_side(RowRange left, RowRange right, BuildSide build, std::optional<Side> favoured) {
  auto const [less, more] = std::minmax({left.size(), right.size()});
  auto const smaller = left.size() < right.size() ? Side::left : Side::right;
  return contract::build_side(build, favoured && more / 2 <= less ? *favoured : smaller);
}

}  // namespace

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

std::vector<SliceTask> cut_probe_slices(std::vector<std::uint64_t> const& left_offsets,
                                        std::vector<std::uint64_t> const& right_offsets, ProbeSliceRows rows,
                                        BuildSide build, std::optional<Side> favoured) {
  GARUDA_EXPECTS(left_offsets.size() == right_offsets.size());
  GARUDA_EXPECTS(rows.build > 0 && rows.probe > 0);
  std::vector<SliceTask> slices;
  for (std::size_t p = 0; p + 1 < left_offsets.size(); ++p) {
    RowRange const left{left_offsets[p], left_offsets[p + 1]};
    RowRange const right{right_offsets[p], right_offsets[p + 1]};
    auto const side = build_side(left, right, build, favoured);
    auto const& built = side == Side::left ? left : right;
    auto const& probed = side == Side::left ? right : left;
    for (auto b = built.begin; b < built.end; b += rows.build) {
      RowRange const build_range{b, std::min(b + rows.build, built.end)};
      for (auto i = probed.begin; i < probed.end; i += rows.probe) {
        RowRange const probe_range{i, std::min(i + rows.probe, probed.end)};
        auto const partition = static_cast<std::uint32_t>(p);
        slices.push_back(side == Side::left ? SliceTask{partition, build_range, probe_range, side}
                                            : SliceTask{partition, probe_range, build_range, side});
      }
    }
  }
  return slices;
}

std::vector<std::size_t> group_slices(std::vector<SliceTask> const& slices, std::uint64_t rows) {
  std::vector<std::size_t> cuts{0};
  std::uint64_t in_group = 0;
  for (std::size_t s = 0; s < slices.size(); ++s) {
    auto const larger = std::max(slices[s].left.size(), slices[s].right.size());
    if (in_group > 0 && in_group + larger > rows) {
      cuts.push_back(s);
      in_group = 0;
    }
    in_group += larger;
  }
  if (!slices.empty()) cuts.push_back(slices.size());
  return cuts;
}

std::optional<std::array<SliceTask, 2>> split_slice(SliceTask const& slice) {
  if (std::max(slice.left.size(), slice.right.size()) < contract::kSmallestSplitRows) return std::nullopt;
  std::array<SliceTask, 2> halves{slice, slice};
  auto const range = slice.left.size() >= slice.right.size() ? &SliceTask::left : &SliceTask::right;
  auto const middle = (slice.*range).begin + (slice.*range).size() / 2;
  (halves[0].*range).end = middle;
  (halves[1].*range).begin = middle;
  return halves;
}

contract::KeySpan keys_of(partition::PartitionedKeys const& side, std::uint32_t partition, RowRange range) {
  contract::KeySpan span;
  if (side.key_bits == 32)
    span.words = side.keys32().subspan(range.begin, range.size());
  else
    span.words = side.keys64().subspan(range.begin, range.size());
  span.min = side.ranges[partition].min;
  span.max = side.ranges[partition].max;
  return span;
}

}  // namespace garuda::run
