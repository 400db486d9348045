// What steps of a program compute of single values: the meaning of arithmetic and casts.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "expr/program.hpp"

namespace garuda::expr {

/// What became of a value.
enum class Outcome : std::uint8_t {
  fine,
  beyond,     ///< It is beyond its type; what was written is its value modulo 2^bits.
  undefined,  ///< There is none: a quotient by zero, an integer of a NaN.
};

/// Cuts an integer that was computed in `Value` to a type of `bits` bits.
template <std::integral Value>
Outcome narrow(Value& value, std::uint8_t bits) noexcept {
  if (bits >= sizeof(Value) * 8) return Outcome::fine;
  auto const unused = static_cast<int>(sizeof(Value) * 8 - bits);
  auto const whole = value;
  value = static_cast<Value>(static_cast<Value>(static_cast<std::make_unsigned_t<Value>>(value) << unused) >> unused);
  return value == whole ? Outcome::fine : Outcome::beyond;
}

/// Integers: the quotient or the remainder, cut towards zero or rounded down.
template <std::integral Value>
Outcome divide(Function function, Value a, Value b, Value& result) noexcept {
  result = 0;
  if (b == 0) return Outcome::undefined;
  bool const is_quotient = function == Function::divide || function == Function::floor_divide;
  if (std::is_signed_v<Value> && b == static_cast<Value>(-1)) {  // by -1: the least value has no opposite
    bool const overflows = is_quotient && a == std::numeric_limits<Value>::min();
    if (is_quotient) result = static_cast<Value>(0 - static_cast<std::make_unsigned_t<Value>>(a));
    return overflows ? Outcome::beyond : Outcome::fine;
  }
  auto quotient = static_cast<Value>(a / b);
  auto rest = static_cast<Value>(a % b);
  bool const is_floor = function == Function::floor_divide || function == Function::floor_remainder;
  if (is_floor && rest != 0 && (rest < 0) != (b < 0)) {
    quotient = static_cast<Value>(quotient - 1);
    rest = static_cast<Value>(rest + b);
  }
  result = is_quotient ? quotient : rest;
  return Outcome::fine;
}

template <std::integral Value>
Outcome compute(Function function, Value a, Value b, std::uint8_t bits, Value& result) noexcept {
  bool overflows = false;
  switch (function) {
    case Function::add:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case Function::subtract:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case Function::multiply:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case Function::opposite:
      overflows = __builtin_sub_overflow(Value{0}, a, &result);
      break;
    default:
      if (auto const outcome = divide(function, a, b, result); outcome != Outcome::fine) return outcome;
      break;
  }
  auto const outcome = narrow(result, bits);
  return overflows ? Outcome::beyond : outcome;
}

template <std::floating_point Value>
Outcome compute(Function function, Value a, Value b, std::uint8_t, Value& result) noexcept {
  switch (function) {
    case Function::add:
      result = a + b;
      break;
    case Function::subtract:
      result = a - b;
      break;
    case Function::multiply:
      result = a * b;
      break;
    case Function::opposite:
      result = -a;
      break;
    case Function::divide:
      result = a / b;
      break;
    case Function::floor_divide:
      result = std::floor(a / b);
      break;
    case Function::remainder:
      result = std::fmod(a, b);
      break;
    default:
      result = std::fmod(a, b);
      if (result != 0 && (result < 0) != (b < 0)) result += b;
      break;
  }
  return Outcome::fine;
}

/// The value in another kind. `is_boolean`: it becomes one.
template <class From, class To>
Outcome convert(From from, bool is_boolean, std::uint8_t bits, To& to) noexcept {
  if (is_boolean) {
    to = static_cast<To>(from != 0 ? 1 : 0);
    return Outcome::fine;
  }
  if constexpr (std::is_floating_point_v<To>) {
    to = static_cast<To>(from);
    return Outcome::fine;
  } else if constexpr (std::is_floating_point_v<From>) {
    to = 0;
    // The bounds are powers of two, which floats hold exactly.
    auto const span = std::ldexp(From{1}, std::is_signed_v<To> ? bits - 1 : bits);
    auto const whole = std::trunc(from);
    if (!(whole < span && whole >= (std::is_signed_v<To> ? -span : From{0}))) return Outcome::undefined;
    to = static_cast<To>(whole);
    return Outcome::fine;
  } else {
    to = static_cast<To>(from);
    bool const is_kept = static_cast<From>(to) == from && (to < 0) == (from < 0);
    auto const outcome = narrow(to, bits);
    return is_kept ? outcome : Outcome::beyond;
  }
}

}  // namespace garuda::expr
