// The bytes of values of variable width, in every layout that Arrow has for them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda {

/// Bytes of a string that stands in its view; longer ones are referred to.
inline constexpr std::int32_t kInlineViewBytes = 12;

/// A view as it lies in a column.
struct ValueView {
  std::int32_t length = 0;
  char bytes[kInlineViewBytes] = {};  ///< of a longer value: 4 bytes of it, then buffer and offset, int32 each

  std::int32_t buffer() const noexcept { return word(4); }
  std::int32_t offset() const noexcept { return word(8); }

 private:
  std::int32_t word(std::size_t at) const noexcept {
    std::int32_t value;
    std::memcpy(&value, bytes + at, sizeof(value));
    return value;
  }
};
static_assert(sizeof(ValueView) == 16);

/// The first bytes of a value as a number, which orders values by their bytes as far as these differ.
inline std::uint64_t ordered_prefix(std::string_view value) noexcept {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  if (!value.empty()) std::memcpy(&word, value.data(), std::min(value.size(), sizeof(word)));
  return __builtin_bswap64(word);
}

/// The view of a value that, if it is long, begins at `offset` of the first buffer. Requires: at most 2^31 - 1 bytes.
inline ValueView make_view(std::string_view bytes, std::int32_t offset) noexcept {
  ValueView view;
  view.length = static_cast<std::int32_t>(bytes.size());
  bool const is_inline = view.length <= kInlineViewBytes;
  if (!bytes.empty()) std::memcpy(view.bytes, bytes.data(), is_inline ? bytes.size() : 4);
  if (!is_inline) std::memcpy(view.bytes + 8, &offset, sizeof(offset));
  return view;
}

/// The one buffer of bytes that views refer to. Does not move: `list` refers to what is beside it.
struct ViewedBytes {
  ViewedBytes(void const* first, std::int64_t num_bytes) : data(first), bytes(num_bytes) {}
  ViewedBytes(ViewedBytes const&) = delete;
  ViewedBytes& operator=(ViewedBytes const&) = delete;

  void const* data;
  std::int64_t bytes;
  ViewBuffers list{1, &data, &bytes};
};

enum class ValueLayout : std::uint8_t { offsets32, offsets64, views };

/// Requires: a type of variable width, or views.
inline ValueLayout value_layout(DataType const& type) noexcept {
  return is_view(type) ? ValueLayout::views : has_large_offsets(type) ? ValueLayout::offsets64 : ValueLayout::offsets32;
}

/// The value at position `at` of the buffers of `array`, that is counted from their start, not from its offset.
template <ValueLayout kLayout>
std::string_view variable_value(ArrayView const& array, std::int64_t at) noexcept {
  if constexpr (kLayout == ValueLayout::views) {
    auto const& view = static_cast<ValueView const*>(array.values)[at];
    auto const length = static_cast<std::size_t>(view.length);
    if (view.length <= kInlineViewBytes) return {view.bytes, length};
    auto const* const buffers = static_cast<ViewBuffers const*>(array.offsets)->buffers;
    return {static_cast<char const*>(buffers[view.buffer()]) + view.offset(), length};
  } else {
    using Offset = std::conditional_t<kLayout == ValueLayout::offsets32, std::int32_t, std::int64_t>;
    auto const* const offsets = static_cast<Offset const*>(array.offsets) + at;
    // As a number: there may be no bytes to point to, and a branch on empty values is often guessed wrong.
    auto const begin = reinterpret_cast<std::uintptr_t>(array.values) + static_cast<std::uintptr_t>(offsets[0]);
    return {reinterpret_cast<char const*>(begin), static_cast<std::size_t>(offsets[1] - offsets[0])};
  }
}

/// The same, for loops over few values: the layout is looked at for each of them.
inline std::string_view variable_value(ArrayView const& array, ValueLayout layout, std::int64_t at) noexcept {
  if (layout == ValueLayout::offsets32) return variable_value<ValueLayout::offsets32>(array, at);
  if (layout == ValueLayout::offsets64) return variable_value<ValueLayout::offsets64>(array, at);
  return variable_value<ValueLayout::views>(array, at);
}

/// The bytes of a value of strings or binary of any layout, or of another type of fixed width, at position `at` of the
/// buffers of `array`.
inline std::string_view bytes_at(ArrayView const& array, DataType const& type, std::int64_t at) noexcept {
  if (is_variable_width(type) || is_view(type)) return variable_value(array, value_layout(type), at);
  auto const width = static_cast<std::size_t>(byte_width(type));
  return {static_cast<char const*>(array.values) + static_cast<std::size_t>(at) * width, width};
}

}  // namespace garuda
