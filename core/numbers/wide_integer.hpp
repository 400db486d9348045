// 128-bit integers, which every compiler garuda builds with has, though the standard has none.
#pragma once

#include <cstdint>

namespace garuda {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// The number whose two words these are, the low one first.
inline UInt128 wide_word(std::uint64_t const* words) noexcept { return (UInt128{words[1]} << 64) | words[0]; }

/// Adds two words to two, of two's complement, the low ones first; a carry out of them is lost.
inline void add_words(std::uint64_t* sum, std::uint64_t low, std::uint64_t high) noexcept {
  // As one integer in memory: through words compilers load both, add, and store both.
  using WordPair [[gnu::may_alias, gnu::aligned(8)]] = UInt128;
  *reinterpret_cast<WordPair*>(sum) += UInt128{high} << 64 | low;
}

inline constexpr std::int32_t kDecimal128Digits = 38;
inline constexpr std::int32_t kDecimal256Digits = 76;

/// 10^exponent, at most 10^38.
constexpr UInt128 power_of_ten(std::int32_t exponent) noexcept {
  UInt128 power = 1;
  for (std::int32_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace garuda
