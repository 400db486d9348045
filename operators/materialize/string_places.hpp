// Where the values of a column of strings lie: behind offsets, or in and behind views.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/variable_value.hpp"
#include "operators/materialize/gather_column.hpp"
#include "operators/materialize/referring_views.hpp"

namespace garuda {

/// Stands for values without bytes.
inline constexpr std::array<std::byte, kWideCopy> kNoBytes{};
/// How many values ahead bytes are asked for.
inline constexpr std::int64_t kValuesAhead = 24;

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
    auto const* const bytes =
        begin <= part.last_wide ? part.values + begin : part.tail.data() + (begin - part.tail_begin);
    return {bytes, static_cast<std::int64_t>(entries[row + 1]) - begin, begin, part.first_buffer};
  }
}

/// Calls store(i, place) for the rows [begin, end), nulls as values without bytes, and asks for offsets or views ahead.
template <ValueLayout kLayout, class RowId, class Store>
void locate(GatherColumn const& column, RowSelection<RowId> const& rows, std::int64_t begin, std::int64_t end,
            Store store) {
  auto const* const parts = column.strings.data();
  // Null rows read a row's place, too, where the table has one.
  if (rows.has_null_rows() && !column.parts.empty() && !column.may_have_nulls && rows.is_dense_at(begin))
    return rows.visit_all(begin, end, [=](std::int64_t i, std::uint32_t batch, std::int64_t row, bool is_null) {
      auto place = place_of<kLayout>(parts[batch], row);
      place.length = is_null ? 0 : place.length;
      store(i, place);
    });
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

inline void ask_for(std::byte const* bytes, std::int64_t length) {
  __builtin_prefetch(bytes);
  __builtin_prefetch(bytes + std::max<std::int64_t>(length, 1) - 1);
}

}  // namespace garuda
