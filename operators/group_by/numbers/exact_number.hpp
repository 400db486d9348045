// A number as an exact integer times a power of two, and the types that such numbers are read from.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/half_float.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "garuda/types.hpp"

namespace garuda::group_by {

/// ± magnitude · 2^exponent.
struct ExactNumber {
  UInt128 magnitude = 0;  ///< 0 of nulls, infinities and NaNs
  std::int32_t exponent = 0;
  bool is_negative = false;
  bool is_special = false;  ///< infinite or NaN
  bool is_null = false;
};

/// Whether a number of the type has more bits than an ExactNumber.
inline bool is_wide(DataType const& type) noexcept { return type.id == TypeId::decimal256; }

using Words256 = std::array<std::uint64_t, 4>;

/// A float of 16 bits.
struct Half {
  std::uint16_t bits = 0;
};

/// Inlined: loops over rows take little else.
template <class T>
[[gnu::always_inline]] inline ExactNumber number_of(T value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return number_of(half_value(value.bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    auto const parts = split_float(value);
    return {parts.magnitude, static_cast<std::int32_t>(parts.position) + kUnitExponent<T>, parts.negative,
            parts.special != 0};
  } else {
    bool const is_negative = value < 0;
    auto const bits = static_cast<UInt128>(value);
    return {is_negative ? ~bits + 1 : bits, 0, is_negative, false};
  }
}

/// Calls use with a null pointer to the type of the column's values.
template <class Use>
void with_type(DataType const& type, Use const& use) {
  if (type.id == TypeId::float16) return use(static_cast<Half*>(nullptr));
  if (type.id == TypeId::float32) return use(static_cast<float*>(nullptr));
  if (type.id == TypeId::float64) return use(static_cast<double*>(nullptr));
  if (type.id == TypeId::decimal128) return use(static_cast<Int128*>(nullptr));
  visit_integers(byte_width(type), type_row(type.id).is_signed, use);
}

}  // namespace garuda::group_by
