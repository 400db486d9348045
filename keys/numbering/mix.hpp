// The mixing hash of the host: partition digits and the CPU path's tables.
#pragma once

#include <cstdint>

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

}  // namespace garuda::keys
