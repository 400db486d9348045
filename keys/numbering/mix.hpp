// The hashes of the host: the mixing one of partition digits and the CPU path's tables, and that of values of any
// length.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/numbers/wide_integer.hpp"

namespace garuda::keys {

/// Mixes the 64 bits of `key` so that every part of the result is usable as a hash of its own: the digit of a partition
/// takes the leading bits, the CPU path's tables the bits behind them.
///
/// It has to stay independent of the hash that places a row inside an image: all keys of a partition share their digit,
/// so an image hash that was a function of these leading bits would crowd a partition into one part of the image. The
/// images are addressed by 32-bit arithmetic; this is 64-bit arithmetic with other constants, for 32-bit keys too.
/// Source: the finaliser of SplitMix64 (variant 13 of Stafford's mixers, after MurmurHash3). The offset keeps key 0 off
/// the fixed point 0.
constexpr std::uint64_t mix(std::uint64_t key) noexcept {
  key += 0x9E37'79B9'7F4A'7C15;
  key = (key ^ (key >> 30)) * 0xBF58'476D'1CE4'E5B9;
  key = (key ^ (key >> 27)) * 0x94D0'49BB'1331'11EB;
  return key ^ (key >> 31);
}

/// The `bits` bits of `hash` behind its `skipped` leading ones. Requires bits <= 64, skipped < 64.
constexpr std::uint64_t hash_digit(std::uint64_t hash, std::uint32_t bits, std::uint32_t skipped = 0) noexcept {
  // In two steps, because a shift by 64 (no bits at all) is undefined.
  return bits == 0 ? 0 : (hash << skipped) >> (64 - bits);
}

/// The partition, of 2^bits, of a row whose keys have that hash. Keys of one partition share what another level made of
/// them, so each level mixes again.
constexpr std::uint64_t spill_partition(std::uint64_t hash, std::uint32_t level, std::uint32_t bits) noexcept {
  constexpr std::uint64_t kOdd = 0xD6E8'FEB8'6659'FD93;
  return hash_digit(mix(hash + (level + 1) * kOdd), bits);
}

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
