// The bytes of a column's values, a row at a time, and as words that can be compared at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

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

}  // namespace garuda::keys
