// Bitmaps in Arrow layout: one bit a row, least significant bit first.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace garuda {

/// Bytes of a bitmap of `num_bits` bits.
constexpr std::int64_t bitmap_bytes(std::int64_t num_bits) noexcept { return num_bits / 8 + (num_bits % 8 != 0); }

inline bool get_bit(std::uint8_t const* bitmap, std::int64_t i) noexcept {
  return ((bitmap[i >> 3] >> (i & 7)) & 1) != 0;
}

/// The number of ones among bits [begin, begin + length). Reads only the bytes that hold those bits.
inline std::int64_t count_ones(std::uint8_t const* bitmap, std::int64_t begin, std::int64_t length) noexcept {
  if (length <= 0) return 0;
  auto const end = begin + length;
  auto first = begin >> 3;
  auto const last = (end - 1) >> 3;
  auto const head = static_cast<std::uint8_t>(0xFF << (begin & 7));
  auto const tail = static_cast<std::uint8_t>(0xFF >> (7 - ((end - 1) & 7)));
  if (first == last) return std::popcount(static_cast<std::uint8_t>(bitmap[first] & head & tail));
  std::int64_t ones = std::popcount(static_cast<std::uint8_t>(bitmap[first++] & head));
  for (; first + 8 <= last; first += 8) {
    std::uint64_t word;
    std::memcpy(&word, bitmap + first, sizeof(word));
    ones += std::popcount(word);
  }
  for (; first < last; ++first) ones += std::popcount(bitmap[first]);
  return ones + std::popcount(static_cast<std::uint8_t>(bitmap[last] & tail));
}

/// Writes bit_of(i) for every i below `length`, and zeros to the end of the last byte.
template <class BitOf>
void write_bits(std::uint8_t* bitmap, std::int64_t length, BitOf const& bit_of) {
  for (std::int64_t i = 0; i < length; i += 8) {
    auto const bits = length - i < 8 ? length - i : 8;
    unsigned byte = 0;
    for (std::int64_t bit = 0; bit < bits; ++bit) byte |= (bit_of(i + bit) ? 1U : 0U) << bit;
    bitmap[i / 8] = static_cast<std::uint8_t>(byte);
  }
}

}  // namespace garuda
