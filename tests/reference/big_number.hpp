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
