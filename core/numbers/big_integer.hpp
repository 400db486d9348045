// Integers of some thousand bits, in which exact sums become one rational that is rounded once.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/numbers/wide_integer.hpp"

namespace garuda {

/// A signed integer of at most kMostWords words, without memory of its own to allocate. Results that need more words
/// throw LogicError: what sums of products of float64 need, times squares of counts, fits.
class BigInteger {
 public:
  /// Products of float64 span 2 · 2098 bits, their sums 63 more; times a count, and with the bits that a quotient
  /// needs.
  static constexpr std::uint32_t kMostWords = 80;

  BigInteger() noexcept {}  // NOLINT(modernize-use-equals-default): words are not filled
  BigInteger(BigInteger const& other) noexcept { *this = other; }
  BigInteger& operator=(BigInteger const& other) noexcept;

  explicit BigInteger(std::uint64_t value) noexcept;
  /// Two's complement, low word first, the last word's highest bit the sign if `is_signed`.
  BigInteger(std::span<std::uint64_t const> words, bool is_signed) noexcept;

  bool is_zero() const noexcept { return count_ == 0; }
  bool is_negative() const noexcept { return negative_; }
  /// The magnitude, low word first, the last one not 0; none of zero.
  std::span<std::uint64_t const> magnitude() const noexcept { return {words_.data(), count_}; }
  /// Writes two's complement into all of `words`, low word first. Requires: they hold it.
  void write(std::span<std::uint64_t> words) const noexcept;
  /// Bits of the magnitude; 0 of zero.
  std::uint32_t bit_width() const noexcept;

  BigInteger operator-() const noexcept;
  BigInteger operator<<(std::uint32_t bits) const;
  BigInteger operator+(BigInteger const& other) const { return sum(other, other.negative_); }
  BigInteger operator-(BigInteger const& other) const { return sum(other, !other.negative_); }
  BigInteger operator*(BigInteger const& other) const;

  /// Divides the magnitude, towards 0; true when there is a remainder. Requires: divisor is not 0.
  bool divide(std::uint64_t divisor) noexcept;

  /// The double nearest to (this ± something between 0 and 1, away from zero, if `goes_on`) · 2^exponent; of two
  /// equally near the one with an even mantissa. Zero is +0.0. Requires: of what goes on more than 64 bits are here.
  double round(std::int32_t exponent, bool goes_on = false) const noexcept;

 private:
  BigInteger sum(BigInteger const& other, bool other_is_negative) const;
  int compare_magnitude(BigInteger const& other) const noexcept;
  void set_count(std::uint32_t count);
  void trim() noexcept;

  std::uint32_t count_ = 0;  ///< of words; the last one is not 0
  bool negative_ = false;
  std::array<std::uint64_t, kMostWords> words_;
};

}  // namespace garuda
