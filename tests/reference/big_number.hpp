// Exact binary fractions of any size, for the oracle's sums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace garuda::reference {

/// A non-negative integer of any size.
class BigNatural {
 public:
  /// += value · 2^shift
  void add_shifted(std::uint64_t value, std::uint32_t shift);
  /// = this · factor + term
  void multiply_add(std::uint32_t factor, std::uint32_t term);
  void add(BigNatural const& other);
  /// Adds other · 2^shift.
  void add(BigNatural const& other, std::uint32_t shift);
  BigNatural times(BigNatural const& other) const;
  /// Divides by a number that is not 0, and returns the rest.
  std::uint32_t divide(std::uint32_t divisor);
  std::uint32_t bits() const;
  /// -= other. Requires: other is not greater.
  void subtract(BigNatural const& other);
  bool is_zero() const { return words_.empty(); }
  /// -1, 0 or 1.
  int compare(BigNatural const& other) const;
  /// Removes the trailing zero bits and returns their number. Requires: not zero.
  std::uint32_t strip_zero_bits();
  std::string digits() const;

 private:
  void trim();
  std::vector<std::uint32_t> words_;  ///< low word first, the last one not 0
};

/// value · 2^exponent, rounded once by the C library's conversion from decimal digits.
double rounded(BigNatural value, std::int32_t exponent);

/// Adds up multiples of 2^exponent, exactly.
class BigSum {
 public:
  /// `exponent`: at most 0; -1074 for any finite double, 0 for integers.
  explicit BigSum(std::int32_t exponent) : exponent_(exponent) {}

  void add(double value);
  /// Adds a decimal integer, "-17".
  void add(std::string const& digits);

  /// The sum in decimal digits. Requires: integers were added.
  std::string digits() const;
  /// The sum, rounded once by the C library's conversion from decimal digits; 0 is +0.0.
  double round() const;

 private:
  /// The magnitude of the sum, and its sign.
  BigNatural magnitude(bool& negative) const;

  std::int32_t exponent_;
  BigNatural positive_;
  BigNatural negative_;
};

}  // namespace garuda::reference
