// The bytes of a column's values, a row at a time, and as words that can be compared at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/numbers/wide_integer.hpp"
#include "core/variable_value.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::keys {

/// Calls visit(i, bytes) for the rows [begin, begin + length) of `array` that are not null, i counted from begin.
/// Requires: strings or binary.
template <class Visit>
void for_each_bytes(ArrayView const& array, DataType const& type, std::int64_t begin, std::int64_t length,
                    Visit const& visit) {
  auto const first = array.offset + begin;
  auto const visit_all = [&](auto const& value_at) {
    if (array.validity == nullptr) {
      for (std::int64_t i = 0; i < length; ++i) visit(i, value_at(first + i));
      return;
    }
    for (std::int64_t i = 0; i < length; ++i)
      if (!array.is_null(begin + i)) visit(i, value_at(first + i));
  };
  if (type.id == TypeId::fixed_size_binary) {
    auto const width = static_cast<std::size_t>(type.fixed_byte_width);
    auto const* const values = static_cast<char const*>(array.values);
    return visit_all(
        [=](std::int64_t at) { return std::string_view(values + at * static_cast<std::int64_t>(width), width); });
  }
  switch (value_layout(type)) {
    case ValueLayout::offsets32:
      return visit_all([&](std::int64_t at) { return variable_value(array, ValueLayout::offsets32, at); });
    case ValueLayout::offsets64:
      return visit_all([&](std::int64_t at) { return variable_value(array, ValueLayout::offsets64, at); });
    case ValueLayout::views:
      return visit_all([&](std::int64_t at) { return variable_value(array, ValueLayout::views, at); });
  }
}

/// The first 8 bytes of a value, zeros behind it, as a little-endian word. Reads nothing beyond the value.
inline std::uint64_t leading_word(std::string_view value) noexcept {
  auto const load = [&]<class T>(T word, std::size_t at) {
    std::memcpy(&word, value.data() + at, sizeof(T));
    return std::uint64_t{word};
  };
  auto const size = value.size();
  if (size >= 8) return load(std::uint64_t{}, 0);
  // Loads that overlap agree where they do.
  if (size >= 4) return load(std::uint32_t{}, 0) | load(std::uint32_t{}, size - 4) << (8 * (size - 4));
  if (size == 0) return 0;
  auto const middle = size / 2;
  return load(std::uint8_t{}, 0) | load(std::uint8_t{}, middle) << (8 * middle) |
         load(std::uint8_t{}, size - 1) << (8 * (size - 1));
}

/// The bytes [8 × index, 8 × index + 8) of a value likewise.
inline std::uint64_t word_of(std::string_view value, std::size_t index) noexcept {
  if (index == 0) return leading_word(value);
  auto const first = 8 * index;
  if (value.size() <= first) return 0;
  auto const last = std::min(value.size(), first + 8);
  std::uint64_t word;
  std::memcpy(&word, value.data() + last - 8, 8);
  return word >> (8 * (first + 8 - last));
}

/// Where the bytes of a column end behind offsets: 16 bytes of a value may be read before it. nullptr: not known.
inline char const* end_of_bytes(ArrayView const& array, DataType const& type) noexcept {
  if (!is_variable_width(type) || array.length == 0) return nullptr;
  auto const last = array.offset + array.length;
  auto const* const values = static_cast<char const*>(array.values);
  return values + (has_large_offsets(type) ? static_cast<std::int64_t const*>(array.offsets)[last]
                                           : std::int64_t{static_cast<std::int32_t const*>(array.offsets)[last]});
}

inline constexpr std::size_t kPaddedBytes = 16;
using PaddedBytes = std::uint8_t __attribute__((vector_size(kPaddedBytes)));

/// 255 for the first `count` of 16 bytes. Requires: count <= kPaddedBytes.
inline PaddedBytes present_bytes(std::size_t count) noexcept {
  static constexpr auto kPresent = [] {
    std::array<std::uint8_t, 2 * kPaddedBytes> bytes{};
    std::fill_n(bytes.begin(), kPaddedBytes, std::uint8_t{0xFF});
    return bytes;
  }();
  PaddedBytes present;
  std::memcpy(&present, kPresent.data() + kPaddedBytes - count, kPaddedBytes);
  return present;
}

/// The bytes of a value that stands in its view, zeros behind it.
inline PaddedBytes padded_bytes(ValueView const& view) noexcept {
  auto const bytes = std::bit_cast<UInt128>(view) >> (8 * (sizeof(view) - kInlineViewBytes));
  return std::bit_cast<PaddedBytes>(bytes) & present_bytes(static_cast<std::size_t>(view.length));
}

/// The bytes [16 × step, 16 × step + 16) of a value, zeros behind it. `end`: end_of_bytes of its column.
inline PaddedBytes padded_bytes(std::string_view value, std::size_t step, char const* end) noexcept {
  using Words = std::uint64_t __attribute__((vector_size(kPaddedBytes)));
  auto const first = kPaddedBytes * step;
  if (value.size() <= first) return PaddedBytes{};
  // Not through memory, from which what was written in halves is not read at once.
  if (end == nullptr || end - value.data() < static_cast<std::ptrdiff_t>(first + kPaddedBytes))
    return std::bit_cast<PaddedBytes>(Words{word_of(value, 2 * step), word_of(value, 2 * step + 1)});
  PaddedBytes bytes;
  std::memcpy(&bytes, value.data() + first, kPaddedBytes);
  return bytes & present_bytes(std::min(value.size() - first, kPaddedBytes));
}

}  // namespace garuda::keys
