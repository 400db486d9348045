// Integers of fewer bits than the machine type that they are computed in.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "expr/functions/step_frame.hpp"

namespace garuda::expr {

/// Cuts an integer that was computed in `Value` to a type of `bits` bits.
template <std::integral Value>
Outcome narrow(Value& value, std::uint8_t bits) noexcept {
  if (bits >= sizeof(Value) * 8) return Outcome::fine;
  auto const unused = static_cast<int>(sizeof(Value) * 8 - bits);
  auto const whole = value;
  value = static_cast<Value>(static_cast<Value>(static_cast<std::make_unsigned_t<Value>>(value) << unused) >> unused);
  return value == whole ? Outcome::fine : Outcome::beyond;
}

}  // namespace garuda::expr
