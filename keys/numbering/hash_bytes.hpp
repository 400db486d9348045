// The hash of values of any length.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/numbers/wide_integer.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {

namespace hash_bytes_detail {

template <class T>
std::uint64_t load(char const* bytes) noexcept {
  T word;
  std::memcpy(&word, bytes, sizeof(T));
  return word;
}

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  auto const product = UInt128{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace hash_bytes_detail

/// Hashes bytes by folded 128-bit products of 16 bytes at a time, the last ones overlapping; every bit of the result
/// depends on all of them. Source: the scheme of wyhash (Wang Yi).
inline std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  using hash_bytes_detail::fold;
  using hash_bytes_detail::load;
  constexpr std::uint64_t kFirst = 0xA076'1D64'78BD'642F;
  constexpr std::uint64_t kSecond = 0xE703'7ED1'A0B4'28DB;
  auto const* at = bytes.data();
  auto const size = bytes.size();
  std::uint64_t hash = kFirst ^ size;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (size > 16) {
    for (auto const* const last = at + size - 16; at < last; at += 16)
      hash = fold(load<std::uint64_t>(at) ^ kSecond, load<std::uint64_t>(at + 8) ^ hash);
    at = bytes.data() + size - 16;
    a = load<std::uint64_t>(at);
    b = load<std::uint64_t>(at + 8);
  } else if (size >= 8) {
    a = load<std::uint64_t>(at);
    b = load<std::uint64_t>(at + size - 8);
  } else if (size >= 4) {
    a = load<std::uint32_t>(at);
    b = load<std::uint32_t>(at + size - 4);
  } else if (size > 0) {
    a = load<std::uint8_t>(at) << 16 | load<std::uint8_t>(at + size / 2) << 8 | load<std::uint8_t>(at + size - 1);
  }
  return mix(fold(a ^ kSecond, b ^ hash));
}

}  // namespace garuda::keys
