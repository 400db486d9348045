// Casts between numbers, decimals, booleans, dates and times.
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/numbers/half_float.hpp"
#include "core/type_rows.hpp"
#include "expr/functions/calendar.hpp"
#include "expr/functions/integer_bits.hpp"
#include "expr/functions/step_functions.hpp"
#include "expr/functions/time_units.hpp"
#include "expr/functions/value_text.hpp"
#include "expr/functions/wide_decimal.hpp"

namespace garuda::expr {
namespace {

/// The value in another kind. `is_boolean`: it becomes one.
template <class From, class To>
Outcome convert(From from, bool is_boolean, std::uint8_t bits, To& to) noexcept {
  if (is_boolean) {
    to = static_cast<To>(from != 0 ? 1 : 0);
    return Outcome::fine;
  }
  if constexpr (std::is_floating_point_v<To>) {
    to = bits == 16 ? static_cast<To>(nearest_half(static_cast<double>(from))) : static_cast<To>(from);
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

void cast_machine_values(StepFrame const& frame) {
  auto const& step = frame.step;
  if (step.result == Kind::float64 || (step.result == Kind::float32 && step.bits == 32)) {
    // No value is beyond a float.
    std::memset(frame.failed, 0, frame.count);
    auto const& kernels = mask_kernels();
    auto const* const from = frame.operand(0).values;
    if (step.result == Kind::float64) return kernels.to_float64(step.operands, from, frame.count, frame.to<double>());
    return kernels.to_float32(step.operands, from, frame.count, frame.to<float>());
  }
  with_machine_kind(step.operands, [&]<class From>(From) {
    with_machine_kind(step.result, [&]<class To>(To) {
      map_partial<From, To>(
          frame, [&](From from, To& to) { return convert(from, step.result == Kind::boolean, step.bits, to); });
    });
  });
}

/// The float nearest to a decimal: one division of exact numbers where both are, else its digits are read.
template <class Float>
Float float_of(Int128 value, std::int32_t scale) {
  constexpr auto kExact = Int128{1} << std::numeric_limits<Float>::digits;
  constexpr std::int32_t kExactPower = std::is_same_v<Float, float> ? 10 : 22;
  if (value < kExact && value > -kExact && scale <= kExactPower)
    return static_cast<Float>(value) / static_cast<Float>(power_of_ten(scale));
  char text[kMostNumberBytes];
  auto const* const end = write_decimal(value, scale, text);
  Float result = 0;
  std::from_chars(text, end, result);
  return result;
}

void cast_decimals(StepFrame const& frame) {
  auto const& step = frame.step;
  auto const scale = frame.detail->operands[0].scale;
  auto const unit = static_cast<Int128>(power_of_ten(scale));
  with_machine_kind(step.result, [&]<class To>(To) {
    map_partial<Int128, To>(frame, [&](Int128 from, To& to) {
      if constexpr (std::is_floating_point_v<To>) {
        to = step.bits == 16 ? static_cast<To>(nearest_half(float_of<double>(from, scale))) : float_of<To>(from, scale);
        return Outcome::fine;
      } else if (step.result == Kind::boolean) {
        to = from != 0 ? 1 : 0;
        return Outcome::fine;
      } else {
        auto const whole = from / unit;
        to = static_cast<To>(whole);
        bool const is_kept = Int128{to} == whole;
        auto const outcome = narrow(to, step.bits);
        return is_kept ? outcome : Outcome::beyond;
      }
    });
  });
}

/// A float in a decimal's scale: multiplied, then rounded, halves away from zero.
Outcome decimal_of(double value, double power, UInt128 beyond, Int128& to) noexcept {
  auto const scaled = std::round(value * power);
  to = 0;
  if (!(std::fabs(scaled) < 0x1p126)) return Outcome::undefined;
  to = static_cast<Int128>(scaled);
  return has_digits(to, beyond) ? Outcome::fine : Outcome::undefined;
}

void cast_to_decimals(StepFrame const& frame) {
  auto const& type = frame.detail->result;
  auto const beyond = power_of_ten(type.precision);
  auto const put = [&](WideDecimal value, std::int32_t scale, Int128& to) {
    rescale(value, scale, type.scale);
    return narrowed(value, to) && has_digits(to, beyond) ? Outcome::fine : Outcome::undefined;
  };
  if (frame.step.operands == Kind::int128)
    return map_partial<Int128, Int128>(
        frame, [&](Int128 from, Int128& to) { return put(widened(from), frame.detail->operands[0].scale, to); });
  auto const power = static_cast<double>(power_of_ten(type.scale));
  with_machine_kind(frame.step.operands, [&]<class From>(From) {
    map_partial<From, Int128>(frame, [&](From from, Int128& to) {
      if constexpr (std::is_floating_point_v<From>)
        return decimal_of(static_cast<double>(from), power, beyond, to);
      else
        return put(widened(Int128{from}), 0, to);
    });
  });
}

/// Brings counts of one unit to another, and dates to timestamps and back; of a timestamp a time keeps that of its day.
Int128 in_other_units(std::int64_t value, DataType const& from, DataType const& to) noexcept {
  auto const per_day = units_of_day(from);
  Int128 count{value};
  if (is_time_of_day(to.id) && !is_time_of_day(from.id))
    count = value - floor_quotient(value, per_day) * Int128{per_day};
  auto wanted = units_of_day(to);
  auto multiple = std::int64_t{1};
  if (to.id == TypeId::date64 && from.id != TypeId::date64) {  // whole days alone
    multiple = wanted;
    wanted = 1;
  }
  if (wanted >= per_day)
    count *= wanted / per_day;
  else
    count = count / (per_day / wanted) - (count % (per_day / wanted) < 0 ? 1 : 0);
  return count * multiple;
}

void cast_times(StepFrame const& frame) {
  auto const& from_type = frame.detail->operands[0];
  auto const& to_type = frame.detail->result;
  with_machine_kind(frame.step.operands, [&]<class From>(From) {
    with_machine_kind(frame.step.result, [&]<class To>(To) {
      map_partial<From, To>(frame, [&](From from, To& to) {
        auto const result = in_other_units(static_cast<std::int64_t>(from), from_type, to_type);
        to = static_cast<To>(result);
        return Int128(to) == result ? Outcome::fine : Outcome::undefined;
      });
    });
  });
}

}  // namespace

void cast_values(StepFrame const& frame) {
  auto const& step = frame.step;
  auto const is_temporal = [](DataType const& type) { return type_row(type.id).family == TypeFamily::temporal; };
  if (step.operands == Kind::bytes) return cast_from_text(frame);
  if (step.result == Kind::bytes) return cast_to_text(frame);
  if (step.result == Kind::int128) return cast_to_decimals(frame);
  if (step.operands == Kind::int128) return cast_decimals(frame);
  if (is_temporal(frame.detail->operands[0]) && is_temporal(frame.detail->result)) return cast_times(frame);
  cast_machine_values(frame);
}

}  // namespace garuda::expr
