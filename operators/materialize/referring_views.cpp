#include "operators/materialize/referring_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "operators/materialize/gather_column.hpp"
#include "operators/materialize/string_places.hpp"

namespace garuda {
namespace {

/// Rows whose views are made at once: what tells where their bytes are stays in a first-level cache.
constexpr std::int64_t kViewRows = 512;
constexpr std::int64_t kLongestViewed = std::numeric_limits<std::int32_t>::max();
/// Views count from one of the buffers of a part, which begin so many bytes apart and go on to its end.
constexpr int kBufferShift = 30;

/// The view of a value, which stands in it or is referred to. Its length decides without a branch: in a column with
/// values of both kinds every other one would be mispredicted. Requires: kWideCopy bytes may be read. Of values that
/// are longer than a view can say, nothing is: they are an error, once all lengths are known.
ValueView make_referring_view(Place const& place) noexcept {
  static_assert(kWideCopy >= static_cast<std::int64_t>(2 * sizeof(std::uint64_t)));
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), place.bytes, sizeof(words));
  // Bytes that are not the value's are zero.
  auto const kept = [](std::int64_t count) {
    return count >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * std::max<std::int64_t>(count, 0))) - 1;
  };
  auto const first = words[0] & kept(place.length);
  auto const second = words[1] & kept(place.length - 8);
  auto const buffer =
      static_cast<std::uint32_t>(place.buffer + static_cast<std::int32_t>(place.offset >> kBufferShift));
  auto const offset = static_cast<std::uint64_t>(place.offset & ((std::int64_t{1} << kBufferShift) - 1));
  auto const in_place = first >> 32 | second << 32;
  auto const referred = std::uint64_t{buffer} | offset << 32;
  return std::bit_cast<ValueView>(std::array{std::uint64_t{static_cast<std::uint32_t>(place.length)} | first << 32,
                                             place.length <= kInlineViewBytes ? in_place : referred});
}

/// Views of values behind offsets, which stay where they are. Returns the length of the longest.
template <ValueLayout kLayout, class RowId>
std::int64_t view_values(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin,
                         std::int64_t end, ValueView* views) {
  std::array<Place, kViewRows> places;
  std::int64_t longest = 0;
  if (rows.is_dense_at(begin)) {
    locate<kLayout>(column, rows, begin, end, [&](std::int64_t i, Place const& place) {
      longest = std::max(longest, place.length);
      views[i] = make_referring_view(place);
    });
    return longest;
  }
  for (; begin < end; begin += kViewRows) {
    auto const part_end = std::min(begin + kViewRows, end);
    locate<kLayout>(column, rows, begin, part_end, [&](std::int64_t i, Place const& place) {
      ask_for(place.bytes, std::min(place.length, kWideCopy));
      places[static_cast<std::size_t>(i - begin)] = place;
      longest = std::max(longest, place.length);
    });
    for (auto i = begin; i < part_end; ++i) views[i] = make_referring_view(places[static_cast<std::size_t>(i - begin)]);
  }
  return longest;
}

/// Views as they are in the table, but for the numbers of buffers.
template <class RowId>
std::int64_t copy_views(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin,
                        std::int64_t end, ValueView* views) {
  auto const* const parts = column.strings.data();
  std::int64_t longest = 0;
  rows.visit_ahead(
      begin, end,
      [=](std::int64_t, std::uint32_t batch, std::int64_t row) {
        __builtin_prefetch(static_cast<ValueView const*>(parts[batch].entries) + row);
      },
      [&, parts](std::int64_t i, std::uint32_t batch, std::int64_t row) {
        views[i] = {};
        if (column.may_have_nulls && column.parts[batch].is_null(row)) return;
        views[i] = static_cast<ValueView const*>(parts[batch].entries)[row];
        longest = std::max<std::int64_t>(longest, views[i].length);
        if (views[i].length <= kInlineViewBytes) return;
        auto const buffer = views[i].buffer() + parts[batch].first_buffer;
        std::memcpy(views[i].bytes + 4, &buffer, sizeof(buffer));
      },
      [&](std::int64_t i) { views[i] = {}; });
  return longest;
}

}  // namespace

std::shared_ptr<ReferredBytes const> referred_bytes(std::span<ArrayView const> parts, std::span<StringPart> strings,
                                                    ValueLayout layout,
                                                    std::span<std::shared_ptr<void const> const> owners) {
  auto referred = std::make_shared<ReferredBytes>();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    strings[p].first_buffer = static_cast<std::int32_t>(referred->buffers.size());
    if (layout == ValueLayout::views) {
      auto const& list = *static_cast<ViewBuffers const*>(parts[p].offsets);
      referred->buffers.insert(referred->buffers.end(), list.buffers, list.buffers + list.count);
      referred->bytes.insert(referred->bytes.end(), list.bytes, list.bytes + list.count);
      continue;
    }
    for (std::int64_t begin = 0; begin < strings[p].num_bytes; begin += std::int64_t{1} << kBufferShift) {
      referred->buffers.push_back(strings[p].values + begin);
      referred->bytes.push_back(strings[p].num_bytes - begin);
    }
  }
  referred->owners.assign(owners.begin(), owners.end());
  referred->list = {static_cast<std::int64_t>(referred->buffers.size()), referred->buffers.data(),
                    referred->bytes.data()};
  return referred;
}

template <class RowId>
Result<std::int64_t> gather_referring_views(GatherColumn const& column, RowSelection<RowId> const& rows,
                                            std::int64_t num_rows, GatherOutput& output) {
  GARUDA_TRY_ASSIGN(output.values, AlignedBuffer::allocate(num_rows * std::int64_t{sizeof(ValueView)}));
  auto* const views = output.values.as<ValueView>();
  std::atomic<std::int64_t> longest{0};
  RowSelection<RowId>::for_each_block(num_rows, [&](std::int64_t begin, std::int64_t end) {
    auto const layout = value_layout(column.source_type);
    auto const length = layout == ValueLayout::views ? copy_views(column, rows, begin, end, views)
                        : layout == ValueLayout::offsets32
                            ? view_values<ValueLayout::offsets32>(column, rows, begin, end, views)
                            : view_values<ValueLayout::offsets64>(column, rows, begin, end, views);
    auto known = longest.load();
    while (known < length && !longest.compare_exchange_weak(known, length)) {
    }
  });
  if (longest > kLongestViewed)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("values of views have at most {} bytes: {}", kLongestViewed, longest.load()));
  if (longest > kInlineViewBytes) output.referred = column.referred;
  return num_rows;
}

template Result<std::int64_t> gather_referring_views(GatherColumn const&, RowSelection<std::int64_t> const&,
                                                     std::int64_t, GatherOutput&);
template Result<std::int64_t> gather_referring_views(GatherColumn const&, RowSelection<std::uint32_t> const&,
                                                     std::int64_t, GatherOutput&);

}  // namespace garuda
