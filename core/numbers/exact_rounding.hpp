// Makes bits of float64 of exact sums: rounding to nearest even, once, in integers alone, so that the host and
// CUDA's kernels do the same.
#pragma once

#include <bit>
#include <cstdint>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"

namespace garuda {

/// Position of the highest bit of `word`, which is not 0. In kernels nvcc 13 makes 64 of std::countl_zero without a
/// message, whatever its argument is.
constexpr int highest_bit_of(std::uint64_t word) noexcept {
#ifdef __CUDA_ARCH__
  return 63 - __clzll(static_cast<long long>(word));
#else
  return 63 - std::countl_zero(word);
#endif
}

/// An integer of `count` words, low word first; in two's complement until it is rounded. Room for the windows of a
/// float64 sum, 33 at most, and two words for the last one's upper half and the sign.
struct ExactInteger {
  static constexpr int kMostWords = 36;
  std::uint64_t words[kMostWords];  // NOLINT(modernize-avoid-c-arrays): not filled, and used in kernels
  int count = 0;

  constexpr std::uint64_t word_at(int word) const noexcept { return word < 0 || word >= count ? 0 : words[word]; }
  /// Bits [first, first + 64); first may be negative.
  constexpr std::uint64_t bits_from(int first) const noexcept {
    auto const word = first >> 6;
    auto const shift = static_cast<unsigned>(first & 63);
    return shift == 0 ? word_at(word) : word_at(word) >> shift | word_at(word + 1) << (64 - shift);
  }
  constexpr bool any_below(int bit) const noexcept {
    if (bit <= 0) return false;
    for (int w = 0; w < bit / 64; ++w)
      if (words[w] != 0) return true;
    return bit % 64 != 0 && word_at(bit / 64) << (64 - bit % 64) != 0;
  }
  /// -1 of zero.
  constexpr int highest_bit() const noexcept {
    for (int w = count - 1; w >= 0; --w)
      if (words[w] != 0) return 64 * w + highest_bit_of(words[w]);
    return -1;
  }
  constexpr void negate() noexcept {
    std::uint64_t carry = 1;
    for (int w = 0; w < count; ++w) {
      words[w] = ~words[w] + carry;
      carry = carry != 0 && words[w] == 0 ? 1 : 0;
    }
  }
};

inline constexpr std::uint64_t kInfinity64 = 0x7FF0'0000'0000'0000;
inline constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;

/// The bits of the double nearest to an unsigned integer times 2^exponent, of two the even one.
constexpr std::uint64_t round_magnitude(ExactInteger const& magnitude, int exponent) noexcept {
  constexpr int kDoubleBits = 53;
  constexpr int kLargestBiased = 2047;
  constexpr auto kLowestExponent = kUnitExponent<double>;
  constexpr auto kImplicit = std::uint64_t{1} << (kDoubleBits - 1);
  auto const highest = magnitude.highest_bit();
  if (highest < 0) return 0;
  // The lowest bit that is kept: 53 of them, or down to the least subnormal.
  auto const for_normal = highest - kDoubleBits + 1;
  auto const lowest = for_normal > kLowestExponent - exponent ? for_normal : kLowestExponent - exponent;
  if (lowest > highest + 1) return 0;
  auto mantissa = magnitude.bits_from(lowest) & ((std::uint64_t{1} << kDoubleBits) - 1);
  bool const half = (magnitude.bits_from(lowest - 1) & 1) != 0;
  if (half && (magnitude.any_below(lowest - 1) || (mantissa & 1) != 0)) ++mantissa;
  auto scale = lowest + exponent;
  if (mantissa >> kDoubleBits != 0) {
    mantissa >>= 1;
    ++scale;
  }
  if ((mantissa & kImplicit) == 0) return mantissa;  // subnormal, of scale kLowestExponent
  auto const biased = scale - kLowestExponent + 1;
  if (biased >= kLargestBiased) return kInfinity64;
  return static_cast<std::uint64_t>(biased) << (kDoubleBits - 1) | (mantissa & (kImplicit - 1));
}

/// The bits of the double nearest to a two's complement integer times 2^exponent. Zero is +0.0, what is beyond the
/// largest double infinite. Changes `total`.
constexpr std::uint64_t round_signed(ExactInteger& total, int exponent) noexcept {
  bool const negative = total.count > 0 && total.words[total.count - 1] >> 63 != 0;
  if (negative) total.negate();
  auto const bits = round_magnitude(total, exponent);
  return negative ? bits | kSign64 : bits;
}

/// The bits of the sum of `count` windows, each two words of a signed term 2^64 above the one before, times
/// 2^exponent; of what `special` tells that is no finite number: the canonical NaN for a NaN or both infinities.
constexpr std::uint64_t round_windows(std::uint8_t special, std::uint64_t const* windows, int count,
                                      int exponent) noexcept {
  constexpr std::uint8_t kBoth = kPositiveInfinity | kNegativeInfinity;
  if ((special & kNotANumber) != 0 || (special & kBoth) == kBoth) return kCanonicalNan64;
  if (special != 0) return special == kPositiveInfinity ? kInfinity64 : kInfinity64 | kSign64;
  if (count == 0) return 0;
  ExactInteger total;
  total.count = count + 2;
  Int128 carry = 0;
  for (int w = 0; w < count; ++w) {
    carry += static_cast<Int128>(static_cast<UInt128>(windows[2 * w + 1]) << 64 | windows[2 * w]);
    total.words[w] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  total.words[count] = static_cast<std::uint64_t>(carry);
  total.words[count + 1] = carry < 0 ? ~std::uint64_t{0} : 0;
  return round_signed(total, exponent);
}

}  // namespace garuda
