// Codes of values in the order of the values.
#pragma once

#include <cstdint>
#include <string_view>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "keys/codes/value_bytes.hpp"
#include "keys/numbering/value_numbering.hpp"

namespace garuda::keys {

/// The order of values as their bytes lie in columns of a type without codes: strings and binary by their bytes, a
/// prefix first; decimals of 256 bits by their numbers.
class ValueOrder {
 public:
  /// Requires: strings, binary or decimal256.
  explicit ValueOrder(DataType const& type);

  bool is_less(std::string_view a, std::string_view b) const noexcept;
  /// Numbers of the order of the values as far as they differ: of different ones that of the lesser value is less.
  std::uint64_t prefix(std::string_view value) const noexcept;

 private:
  bool are_numbers_;
};

/// Numbers the distinct values anew, from 0 in their order. `codes`: of these values, by number_values, fewer than
/// kNullCode. In parallel on the threads of the calling task arena. Throws std::bad_alloc. Errors: cancelled.
Result<void> order_codes(ValueBytes const& values, ValueOrder const& order, ValueCodes& codes, Control const& control);

}  // namespace garuda::keys
