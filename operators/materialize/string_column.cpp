#include "operators/materialize/string_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "operators/materialize/gather_column.hpp"

namespace garuda {
namespace {

/// Bytes that a short value is copied with, whatever its length, where that much may be read and written.
constexpr std::int64_t kWideCopy = 16;
/// Stands for values without bytes.
constexpr std::array<std::byte, kWideCopy> kNoBytes{};
/// How many values ahead bytes are asked for.
constexpr std::int64_t kValuesAhead = 24;
/// Rows whose views are made at once: what tells where their bytes are stays in a first-level cache.
constexpr std::int64_t kViewRows = 512;
constexpr std::int64_t kLongestViewed = std::numeric_limits<std::int32_t>::max();
/// Views count from one of the buffers of a part, which begin so many bytes apart and go on to its end.
constexpr int kBufferShift = 30;

template <ValueLayout kLayout>
using Entry = std::conditional_t<kLayout == ValueLayout::offsets32, std::int32_t,
                                 std::conditional_t<kLayout == ValueLayout::offsets64, std::int64_t, ValueView>>;

template <class Visitor>
decltype(auto) visit_layout(ValueLayout layout, Visitor const& visit) {
  switch (layout) {
    case ValueLayout::offsets32:
      return visit(std::integral_constant<ValueLayout, ValueLayout::offsets32>{});
    case ValueLayout::offsets64:
      return visit(std::integral_constant<ValueLayout, ValueLayout::offsets64>{});
    default:
      return visit(std::integral_constant<ValueLayout, ValueLayout::views>{});
  }
}

/// Where a value is.
struct Place {
  std::byte const* bytes = kNoBytes.data();
  std::int64_t length = 0;
  std::int64_t offset = 0;    ///< of `bytes`, in the values of its part
  std::int32_t buffer = 0;    ///< of ReferredBytes: the first of its part
  bool may_read_wide = true;  ///< kWideCopy bytes may be read
};

template <ValueLayout kLayout>
Place place_of(StringPart const& part, std::int64_t row) {
  auto const* const entries = static_cast<Entry<kLayout> const*>(part.entries);
  if constexpr (kLayout == ValueLayout::views) {
    auto const& view = entries[row];
    if (view.length <= kInlineViewBytes)
      return {reinterpret_cast<std::byte const*>(view.bytes), view.length, 0, part.first_buffer, false};
    return {static_cast<std::byte const*>(part.buffers[view.buffer()]) + view.offset(), view.length, 0,
            part.first_buffer, false};
  } else {
    auto const begin = static_cast<std::int64_t>(entries[row]);
    return {part.values + begin, static_cast<std::int64_t>(entries[row + 1]) - begin, begin, part.first_buffer,
            begin <= part.last_wide};
  }
}

/// Calls store(i, place) for the rows [begin, end), nulls as values without bytes, and asks for offsets or views ahead.
template <ValueLayout kLayout, class RowId, class Store>
void locate(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
            Store store) {
  auto const* const parts = column.strings.data();
  rows.visit_ahead(
      begin, end,
      [=](std::int64_t, std::uint32_t batch, std::int64_t row) {
        __builtin_prefetch(static_cast<Entry<kLayout> const*>(parts[batch].entries) + row);
      },
      [&, parts](std::int64_t i, std::uint32_t batch, std::int64_t row) {
        if (column.may_have_nulls && column.parts[batch].is_null(row)) return store(i, Place{});
        store(i, place_of<kLayout>(parts[batch], row));
      },
      [&](std::int64_t i) { store(i, Place{}); });
}

void ask_for(std::byte const* bytes, std::int64_t length) {
  __builtin_prefetch(bytes);
  __builtin_prefetch(bytes + std::max<std::int64_t>(length, 1) - 1);
}

/// Copies `kBytes` bytes from either end of a value of kBytes to 2 × kBytes bytes.
template <std::size_t kBytes>
void copy_ends(std::byte* to, std::byte const* from, std::size_t length) {
  std::array<std::byte, kBytes> first;
  std::array<std::byte, kBytes> last;
  std::memcpy(first.data(), from, kBytes);
  std::memcpy(last.data(), from + length - kBytes, kBytes);
  std::memcpy(to, first.data(), kBytes);
  std::memcpy(to + length - kBytes, last.data(), kBytes);
}

/// Copies `length` bytes, and touches no others.
void copy_value(std::byte* to, std::byte const* from, std::int64_t length) {
  auto const bytes = static_cast<std::size_t>(length);
  if (bytes > 32) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else if (bytes > 0) {
    to[0] = from[0];
    to[bytes / 2] = from[bytes / 2];
    to[bytes - 1] = from[bytes - 1];
  }
}

/// The bytes of blocks, and whether these may be copied wide.
struct BlockBytes {
  explicit BlockBytes(std::int64_t num_rows)
      : ends(static_cast<std::size_t>(num_gather_blocks(num_rows)) + 1), may_read_wide(ends.size()) {}

  void set(std::int64_t begin, std::int64_t bytes, bool wide) {
    auto const block = static_cast<std::size_t>(begin / kGatherBlockRows);
    ends[block + 1] = bytes;
    may_read_wide[block] = wide ? 1 : 0;
  }

  /// Adds up the blocks of `num_rows` rows, each of whose values takes length_of(row) bytes, and returns how many of
  /// the rows fit into `max_bytes` bytes, at least one.
  template <class LengthOf>
  std::int64_t add_up(std::int64_t num_rows, std::int64_t max_bytes, LengthOf length_of) {
    for (std::size_t block = 1; block < ends.size(); ++block) {
      ends[block] += ends[block - 1];
      if (ends[block] <= max_bytes) continue;
      auto row = static_cast<std::int64_t>(block - 1) * kGatherBlockRows;
      auto bytes = ends[block - 1];
      while (row == 0 || bytes + length_of(row) <= max_bytes) bytes += length_of(row++);
      ends[block] = bytes;
      ends.resize(block + 1);
      return row;
    }
    return num_rows;
  }

  std::vector<std::int64_t> ends;  ///< 0, then the bytes up to the end of each block
  std::vector<std::uint8_t> may_read_wide;
};

/// Copies the values of one block and turns lengths into offsets. `lengths`: of the block's first row on.
template <class Offset>
void copy_block(std::byte const* const* from, Offset* lengths, std::int64_t rows, std::byte* values, std::int64_t at,
                std::int64_t end, bool may_read_wide) {
  for (std::int64_t i = 0; i < rows; ++i) {
    ask_for(from[i + kValuesAhead], 1);
    auto const length = static_cast<std::int64_t>(lengths[i]);
    if (may_read_wide && length <= kWideCopy && at + kWideCopy <= end)
      std::memcpy(values + at, from[i], kWideCopy);
    else
      copy_value(values + at, from[i], length);
    at += length;
    lengths[i] = static_cast<Offset>(at);
  }
}

/// Runs of rows of values behind offsets, none of them null: what they hold follows each other, too.
template <ValueLayout kLayout, class Offset>
struct StringRuns {
  GatherColumn const& column;
  Offset* lengths;  ///< of position 0 on

  Entry<kLayout> const* entries(std::uint32_t batch, std::int64_t row) const {
    return static_cast<Entry<kLayout> const*>(column.strings[batch].entries) + row;
  }

  /// The bytes of a block's values, where it is made of runs. `writes_lengths`: what `copy` does not need.
  template <class RowId>
  std::optional<std::int64_t> measure(RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
                                      bool writes_lengths) const {
    if (column.may_have_nulls) return std::nullopt;
    std::int64_t bytes = 0;
    auto const add = [&](std::int64_t i, std::uint32_t batch, std::int64_t row, std::int64_t count) {
      auto const* const offsets = entries(batch, row);
      bytes += static_cast<std::int64_t>(offsets[count] - offsets[0]);
      for (std::int64_t j = 0; writes_lengths && j < count; ++j)
        lengths[i + j] = static_cast<Offset>(offsets[j + 1] - offsets[j]);
    };
    return rows.visit_runs(begin, end, add) ? std::optional(bytes) : std::nullopt;
  }

  /// Copies the values of such a block to [at, at_end) of `values` and writes their offsets. The block may be shorter
  /// than it was measured. Returns whether it is made of runs.
  template <class RowId>
  bool copy(RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end, std::byte* values, std::int64_t at,
            std::int64_t at_end) const {
    if (column.may_have_nulls) return false;
    return rows.visit_runs(begin, end, [&](std::int64_t i, std::uint32_t batch, std::int64_t row, std::int64_t count) {
      auto const* const offsets = entries(batch, row);
      auto const& part = column.strings[batch];
      auto const bytes = static_cast<std::int64_t>(offsets[count] - offsets[0]);
      copy_run(values + at, values + at_end, part.values + offsets[0], part.values + part.num_bytes, bytes);
      // Steps of a fixed size, too: what lies behind the run's end is overwritten by the next one.
      constexpr std::int64_t kStep = 8;
      auto const shift = static_cast<Offset>(at - static_cast<std::int64_t>(offsets[0]));
      auto* const out = lengths + i;
      std::int64_t j = 0;
      for (; j < count && i + j + kStep <= end && row + j + kStep <= column.parts[batch].length; j += kStep)
        for (std::int64_t k = 0; k < kStep; ++k) out[j + k] = static_cast<Offset>(offsets[j + k + 1]) + shift;
      for (; j < count; ++j) out[j] = static_cast<Offset>(offsets[j + 1]) + shift;
      at += bytes;
    });
  }
};

/// Where the values of rows begin, and kValuesAhead more that are only asked for.
Result<AlignedBuffer> allocate_places(std::int64_t num_rows) {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate((num_rows + kValuesAhead) * std::int64_t{sizeof(void*)}));
  std::fill_n(buffer.as<std::byte const*>() + num_rows, kValuesAhead, nullptr);
  return buffer;
}

/// Values behind offsets: found first, which tells their lengths, then copied.
template <class Offset, class RowId>
Result<std::int64_t> gather_bytes(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                                  std::int64_t max_bytes, GatherOutput& output) {
  GARUDA_TRY_ASSIGN(output.offsets, AlignedBuffer::allocate((num_rows + 1) * std::int64_t{sizeof(Offset)}));
  GARUDA_TRY_ASSIGN(auto places, allocate_places(num_rows));
  auto* const lengths = output.offsets.as<Offset>() + 1;
  lengths[-1] = 0;
  auto** const from = places.as<std::byte const*>();
  BlockBytes blocks(num_rows);
  auto const measure = [&](auto layout, bool writes_lengths) {
    RowSelection<RowId>::for_each_block(num_rows, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (layout != ValueLayout::views)
        if (auto const bytes = StringRuns<layout, Offset>{column, lengths}.measure(rows, begin, end, writes_lengths))
          return blocks.set(begin, *bytes, false);
      std::int64_t bytes = 0;
      bool wide = true;
      locate<layout>(column, rows, begin, end, [&](std::int64_t i, Place const& place) {
        from[i] = place.bytes;
        lengths[i] = static_cast<Offset>(place.length);
        bytes += place.length;
        wide &= place.may_read_wide;
      });
      blocks.set(begin, bytes, wide);
    });
  };
  visit_layout(value_layout(column.source_type), [&](auto layout) {
    measure(layout, false);
    if (std::accumulate(blocks.ends.begin(), blocks.ends.end(), std::int64_t{0}) > max_bytes) measure(layout, true);
  });
  num_rows = blocks.add_up(num_rows, max_bytes, [&](std::int64_t row) { return std::int64_t{lengths[row]}; });
  GARUDA_TRY_ASSIGN(output.values, AlignedBuffer::allocate(blocks.ends.back()));
  visit_layout(value_layout(column.source_type), [&](auto layout) {
    RowSelection<RowId>::for_each_block(num_rows, [&](std::int64_t begin, std::int64_t end) {
      auto const block = static_cast<std::size_t>(begin / kGatherBlockRows);
      if constexpr (layout != ValueLayout::views)
        if (StringRuns<layout, Offset>{column, lengths}.copy(rows, begin, end, output.values.data(), blocks.ends[block],
                                                             blocks.ends[block + 1]))
          return;
      copy_block(from + begin, lengths + begin, end - begin, output.values.data(), blocks.ends[block],
                 blocks.ends[block + 1], blocks.may_read_wide[block] != 0);
    });
  });
  output.offsets.truncate((num_rows + 1) * std::int64_t{sizeof(Offset)});
  return num_rows;
}

/// A short value's view. Requires: kWideCopy bytes may be read.
ValueView make_short_view(std::byte const* bytes, std::int64_t length) noexcept {
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), bytes, sizeof(words));
  // Bytes that are not the value's are zero.
  auto const kept = [](std::int64_t count) {
    return count >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * std::max<std::int64_t>(count, 0))) - 1;
  };
  words[0] &= kept(length);
  words[1] &= kept(length - 8);
  return std::bit_cast<ValueView>(
      std::array{static_cast<std::uint64_t>(length) | words[0] << 32, words[0] >> 32 | words[1] << 32});
}

ValueView make_referring_view(Place const& place) {
  if (place.length > kLongestViewed) return {};  // an error, once all lengths are known
  ValueView view = make_view({reinterpret_cast<char const*>(place.bytes), static_cast<std::size_t>(place.length)}, 0);
  if (place.length <= kInlineViewBytes) return view;
  auto const buffer = place.buffer + static_cast<std::int32_t>(place.offset >> kBufferShift);
  auto const offset = static_cast<std::int32_t>(place.offset & ((std::int64_t{1} << kBufferShift) - 1));
  std::memcpy(view.bytes + 4, &buffer, sizeof(buffer));
  std::memcpy(view.bytes + 8, &offset, sizeof(offset));
  return view;
}

/// Views of values behind offsets, which stay where they are. Returns the length of the longest.
template <ValueLayout kLayout, class RowId>
std::int64_t view_values(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin,
                         std::int64_t end, ValueView* views) {
  auto const view_of = [](Place const& place) {
    return place.length <= kInlineViewBytes && place.may_read_wide ? make_short_view(place.bytes, place.length)
                                                                   : make_referring_view(place);
  };
  std::array<Place, kViewRows> places;
  std::int64_t longest = 0;
  if (rows.is_dense_at(begin)) {
    locate<kLayout>(column, rows, begin, end, [&](std::int64_t i, Place const& place) {
      longest = std::max(longest, place.length);
      views[i] = view_of(place);
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
    for (auto i = begin; i < part_end; ++i) views[i] = view_of(places[static_cast<std::size_t>(i - begin)]);
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

/// Views of a table's views whose long values are copied to one buffer.
template <class RowId>
Result<std::int64_t> gather_owning_views(GatherColumn const& column, RowSelection<RowId> const& rows,
                                         std::int64_t num_rows, std::int64_t max_bytes, GatherOutput& output) {
  GARUDA_TRY_ASSIGN(output.values, AlignedBuffer::allocate(num_rows * std::int64_t{sizeof(ValueView)}));
  GARUDA_TRY_ASSIGN(auto places, allocate_places(num_rows));
  auto* const views = output.values.as<ValueView>();
  auto** const from = places.as<std::byte const*>();
  auto const copied_bytes = [](ValueView const& view) {
    return std::int64_t{view.length <= kInlineViewBytes ? 0 : view.length};
  };
  BlockBytes blocks(num_rows);
  RowSelection<RowId>::for_each_block(num_rows, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t bytes = 0;
    locate<ValueLayout::views>(column, rows, begin, end, [&](std::int64_t i, Place const& place) {
      from[i] = place.bytes;
      views[i] = {};
      views[i].length = static_cast<std::int32_t>(place.length);
      bytes += copied_bytes(views[i]);
    });
    blocks.set(begin, bytes, false);
  });
  num_rows = blocks.add_up(num_rows, max_bytes, [&](std::int64_t row) { return copied_bytes(views[row]); });
  GARUDA_TRY_ASSIGN(output.viewed, AlignedBuffer::allocate(blocks.ends.back()));
  RowSelection<RowId>::for_each_block(num_rows, [&](std::int64_t begin, std::int64_t end) {
    auto at = blocks.ends[static_cast<std::size_t>(begin / kGatherBlockRows)];
    for (auto i = begin; i < end; ++i) {
      ask_for(from[i + kValuesAhead], 1);
      auto const length = views[i].length;
      views[i] = make_view({reinterpret_cast<char const*>(from[i]), static_cast<std::size_t>(length)},
                           static_cast<std::int32_t>(at));
      if (length <= kInlineViewBytes) continue;
      copy_value(output.viewed.data() + at, from[i], length);
      at += length;
    }
  });
  output.values.truncate(num_rows * std::int64_t{sizeof(ValueView)});
  return num_rows;
}

}  // namespace

StringPart::StringPart(ArrayView const& array, ValueLayout layout) {
  auto const at = [&](auto const* first) { return static_cast<void const*>(first + array.offset); };
  if (layout == ValueLayout::views) {
    entries = at(static_cast<ValueView const*>(array.values));
    buffers = static_cast<ViewBuffers const*>(array.offsets)->buffers;
    return;
  }
  auto const end_of = [&](auto const* first) {
    entries = at(first);
    return static_cast<std::int64_t>(first[array.offset + array.length]);
  };
  auto const end = layout == ValueLayout::offsets32 ? end_of(static_cast<std::int32_t const*>(array.offsets))
                                                    : end_of(static_cast<std::int64_t const*>(array.offsets));
  values = array.values == nullptr ? kNoBytes.data() : static_cast<std::byte const*>(array.values);
  last_wide = array.values == nullptr ? 0 : end - kWideCopy;
  num_bytes = end;
}

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
Result<std::int64_t> gather_strings(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t num_rows,
                                    std::int64_t max_bytes, GatherOutput& output) {
  if (column.referred) return gather_referring_views(column, rows, num_rows, output);
  if (is_view(column.type)) return gather_owning_views(column, rows, num_rows, max_bytes, output);
  return has_large_offsets(column.type) ? gather_bytes<std::int64_t>(column, rows, num_rows, max_bytes, output)
                                        : gather_bytes<std::int32_t>(column, rows, num_rows, max_bytes, output);
}

template Result<std::int64_t> gather_strings(GatherColumn const&, RowSelection<std::int64_t> const&, std::int64_t,
                                             std::int64_t, GatherOutput&);
template Result<std::int64_t> gather_strings(GatherColumn const&, RowSelection<std::uint32_t> const&, std::int64_t,
                                             std::int64_t, GatherOutput&);

}  // namespace garuda
