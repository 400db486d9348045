// Division by a number that stays the same.
#pragma once

#include <cstdint>
#include <limits>

#include "core/numbers/wide_integer.hpp"

namespace garuda::keys {

/// Divides by a product and one correction.
class ExactDivisor {
 public:
  /// Requires: divisor > 0.
  explicit ExactDivisor(std::uint64_t divisor)
      : divisor_(divisor), reciprocal_(std::numeric_limits<std::uint64_t>::max() / divisor) {}

  std::uint64_t value() const noexcept { return divisor_; }
  /// value / divisor.
  std::uint64_t quotient(std::uint64_t value) const noexcept {
    // The reciprocal lacks less than 1 of 2^64 / divisor, so that this quotient lacks at most 1.
    auto const low = static_cast<std::uint64_t>((UInt128{value} * reciprocal_) >> 64);
    return low + (value - low * divisor_ >= divisor_ ? 1 : 0);
  }
  /// value % divisor.
  std::uint64_t remainder(std::uint64_t value) const noexcept { return value - quotient(value) * divisor_; }

 private:
  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
};

}  // namespace garuda::keys
