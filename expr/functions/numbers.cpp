// Arithmetic and rounding of integers and floats.
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>

#include "core/numbers/wide_integer.hpp"
#include "expr/functions/integer_bits.hpp"
#include "expr/functions/step_functions.hpp"

namespace garuda::expr {
namespace {

/// The quotient or the remainder, cut towards zero or rounded down.
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

template <std::floating_point Value>
Value float_quotient(Function function, Value a, Value b) noexcept {
  if (function == Function::divide) return a / b;
  if (function == Function::floor_divide) return std::floor(a / b);
  auto rest = std::fmod(a, b);
  if (function == Function::floor_remainder && rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest;
}

/// The double nearest to 10^exponent.
double float_power_of_ten(std::int64_t exponent) {
  auto const text = "1e" + std::to_string(exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return exponent > 308 ? std::numeric_limits<double>::infinity() : power;
}

template <class Value>
void round_floats(StepFrame const& frame) {
  auto const digits = frame.detail->numbers[0];
  auto const power = float_power_of_ten(digits < 0 ? -digits : digits);
  map_total<Value, Value>(frame, [&](Value from) {
    auto const value = static_cast<double>(from);
    auto const rounded = digits < 0 ? std::round(value / power) * power : std::round(value * power) / power;
    if (std::isfinite(rounded)) return static_cast<Value>(rounded);
    return digits < 0 && std::isfinite(value) ? Value{0} : from;
  });
}

/// Rounds to a multiple of 10^-digits; other roundings leave integers as they are.
template <class Value>
void round_integers(StepFrame const& frame) {
  auto const digits = frame.step.function == Function::round ? frame.detail->numbers[0] : 0;
  auto const unit = digits < -kDecimal128Digits
                        ? Int128{0}
                        : static_cast<Int128>(power_of_ten(static_cast<std::int32_t>(digits < 0 ? -digits : 0)));
  map_partial<Value, Value>(frame, [&](Value from, Value& to) {
    Int128 const value{from};
    auto rounded = Int128{0};
    if (unit != 0) {
      auto const rest = value % unit;
      auto const size = rest < 0 ? -rest : rest;
      rounded = value - rest;
      if (unit > 1 && size >= unit - size) rounded += rest < 0 ? -unit : unit;
    }
    to = static_cast<Value>(rounded);
    auto const outcome = narrow(to, frame.step.bits);
    return Int128{to} == rounded ? outcome : Outcome::beyond;
  });
}

/// Calls operation(a, b, result), which says whether the result overflows, for all values.
template <class Value, class Operation>
void compute_integers(StepFrame const& frame, Vector const& second, Operation const& operation) {
  auto const bits = frame.step.bits;
  auto const on_failure = frame.step.on_failure;
  auto* const to = frame.to<Value>();
  for_values<Value>(frame.operand(0), second, frame.count, [&](std::size_t i, Value a, Value b) {
    auto outcome = operation(a, b, to[i]);
    if (auto const cut = narrow(to[i], bits); outcome == Outcome::fine) outcome = cut;
    frame.failed[i] = has_failed(outcome, on_failure) ? 1 : 0;
  });
}

Outcome beyond_if(bool overflows) noexcept { return overflows ? Outcome::beyond : Outcome::fine; }

template <std::integral Value>
void compute_kind(StepFrame const& frame, Vector const& second) {
  auto const function = frame.step.function;
  switch (function) {
    case Function::add:
      return compute_integers<Value>(
          frame, second, [](Value a, Value b, Value& to) { return beyond_if(__builtin_add_overflow(a, b, &to)); });
    case Function::subtract:
      return compute_integers<Value>(
          frame, second, [](Value a, Value b, Value& to) { return beyond_if(__builtin_sub_overflow(a, b, &to)); });
    case Function::multiply:
      return compute_integers<Value>(
          frame, second, [](Value a, Value b, Value& to) { return beyond_if(__builtin_mul_overflow(a, b, &to)); });
    case Function::opposite:
      return compute_integers<Value>(
          frame, second, [](Value a, Value, Value& to) { return beyond_if(__builtin_sub_overflow(Value{0}, a, &to)); });
    case Function::absolute:
      return compute_integers<Value>(frame, second, [](Value a, Value, Value& to) {
        to = a;
        return a < 0 ? beyond_if(__builtin_sub_overflow(Value{0}, a, &to)) : Outcome::fine;
      });
    case Function::round:
    case Function::floor:
    case Function::ceil:
      return round_integers<Value>(frame);
    default:
      return compute_integers<Value>(frame, second,
                                     [=](Value a, Value b, Value& to) { return divide(function, a, b, to); });
  }
}

template <std::floating_point Value>
void compute_kind(StepFrame const& frame, Vector const& second) {
  std::memset(frame.failed, 0, frame.count);
  auto const function = frame.step.function;
  auto* const to = frame.to<Value>();
  auto const put = [&](auto const& operation) {
    for_values<Value>(frame.operand(0), second, frame.count,
                      [&](std::size_t i, Value a, Value b) { to[i] = operation(a, b); });
  };
  switch (function) {
    case Function::add:
      return put([](Value a, Value b) { return a + b; });
    case Function::subtract:
      return put([](Value a, Value b) { return a - b; });
    case Function::multiply:
      return put([](Value a, Value b) { return a * b; });
    case Function::opposite:
      return put([](Value a, Value) { return -a; });
    case Function::absolute:
      return put([](Value a, Value) { return std::fabs(a); });
    case Function::floor:
      return put([](Value a, Value) { return std::floor(a); });
    case Function::ceil:
      return put([](Value a, Value) { return std::ceil(a); });
    case Function::round:
      return round_floats<Value>(frame);
    default:
      return put([=](Value a, Value b) { return float_quotient(function, a, b); });
  }
}

}  // namespace

void compute_numbers(StepFrame const& frame) {
  auto const& second = frame.operand(frame.operands - 1);
  with_machine_kind(frame.step.operands, [&]<class Value>(Value) { compute_kind<Value>(frame, second); });
}

}  // namespace garuda::expr
