#include "operators/materialize/string_column.hpp"

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
#include "operators/materialize/string_places.hpp"

namespace garuda {
namespace {

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
  std::int64_t last_begin = 0;
  auto const end_of = [&](auto const* first) {
    entries = at(first);
    last_begin = array.length == 0 ? 0 : static_cast<std::int64_t>(first[array.offset + array.length - 1]);
    return static_cast<std::int64_t>(first[array.offset + array.length]);
  };
  auto const end = layout == ValueLayout::offsets32 ? end_of(static_cast<std::int32_t const*>(array.offsets))
                                                    : end_of(static_cast<std::int64_t const*>(array.offsets));
  values = array.values == nullptr ? kNoBytes.data() : static_cast<std::byte const*>(array.values);
  num_bytes = end;
  if (array.values == nullptr) return;
  last_wide = end - kWideCopy;
  if (last_begin <= last_wide) return;  // no value begins behind it
  tail_begin = std::max<std::int64_t>(last_wide, 0);
  std::copy(values + tail_begin, values + end, tail.begin());
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
