// Which column types are compared with which, and how values of one become those of another of a finer unit or scale.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda::keys {

/// The type in which columns are compared.
struct CommonKeyType {
  DataType result;    ///< of a column that holds the keys of all; never a dictionary
  DataType compared;  ///< the type as which they are encoded. Where units or scales differ: a decimal, of seconds for
                      ///< dates and times, that holds more than `result` does, so that no key is out of range
};

/// Every type but intervals and nested ones; a dictionary counts as its values.
bool can_be_compared(DataType const& type) noexcept;
/// The types that can be compared, for sentences.
inline constexpr std::string_view kComparedTypes =
    "integers, booleans, floats, decimals, dates, times, timestamps, durations, strings, binary and dictionaries of "
    "them";

/// The common type of any number of columns. nullopt: there is no type that holds all values of all exactly. Requires:
/// types.
std::optional<CommonKeyType> common_type_of(std::span<DataType const> types);

/// Integers, floats, decimals, dates, times, timestamps, durations, strings and binary are each widened to a type that
/// holds all values of both exactly; a dictionary counts as its values.
/// Errors: invalid_input, naming both columns and types, when there is none, or when a type cannot be a key.
Result<CommonKeyType> common_key_type(Field const& left, Field const& right);

/// Whether values of `from`, extended to the width of `to` by their sign, are the same values of type `to`: integers of
/// at most 128 bits, and what is stored as such.
bool extends_to(DataType const& from, DataType const& to) noexcept;

/// A fraction of what values of integers, decimals, dates and times count, so that they compare: value × multiple /
/// 10^scale are numbers, of dates and times seconds.
struct ValueScale {
  std::uint64_t multiple = 1;
  std::int32_t scale = 0;
};
ValueScale value_scale(DataType const& type) noexcept;

/// The failure (invalid_input) of a join whose key has a value beyond 64 bits in row `row` of its table.
tl::unexpected<Error> key_beyond_64_bits(Field const& field, std::uint64_t row);

/// A two's complement number, low word first.
using Words256 = std::array<std::uint64_t, 4>;

/// The value at `values`, of `width` bytes, with its sign.
inline Words256 load_number(std::byte const* values, std::size_t width, bool is_signed) {
  Words256 number{};
  std::memcpy(number.data(), values, width);
  bool const is_negative = is_signed && (std::to_integer<unsigned>(values[width - 1]) & 0x80U) != 0;
  if (is_negative) std::memset(reinterpret_cast<std::byte*>(number.data()) + width, 0xFF, sizeof(number) - width);
  return number;
}

inline bool is_negative(Words256 const& number) { return (number[3] >> 63) != 0; }

inline Words256 negated(Words256 number) {
  std::uint64_t carry = 1;
  for (auto& word : number) {
    word = ~word + carry;
    carry = carry != 0 && word == 0 ? 1 : 0;
  }
  return number;
}

/// Bits up to the highest one that is set.
inline std::uint32_t bit_width(Words256 const& number) {
  for (auto w = number.size(); w > 0; --w)
    if (number[w - 1] != 0)
      return static_cast<std::uint32_t>(64 * (w - 1)) + std::uint32_t(std::bit_width(number[w - 1]));
  return 0;
}

/// False: the product takes more than 255 bits beside its sign.
inline bool multiply(Words256& number, std::uint64_t factor) {
  bool const negative = is_negative(number);
  auto magnitude = negative ? negated(number) : number;
  UInt128 carry = 0;
  for (auto& word : magnitude) {
    carry += UInt128{word} * factor;
    word = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  number = negative ? negated(magnitude) : magnitude;
  return carry == 0 && !is_negative(magnitude);
}

/// Whether a number is that of its lowest `width` bytes.
inline bool fits(Words256 const& number, std::size_t width) {
  return width >= sizeof(number) ||
         load_number(reinterpret_cast<std::byte const*>(number.data()), width, true) == number;
}

/// Factors that turn values of one type into those of another, each of at most 64 bits.
inline std::vector<std::uint64_t> factors_of(DataType const& from, DataType const& to) {
  auto const source = value_scale(from);
  auto const target = value_scale(to);
  std::vector<std::uint64_t> factors{source.multiple / target.multiple};
  for (auto digits = target.scale - source.scale; digits > 0; --digits) {
    if (factors.back() > std::numeric_limits<std::uint64_t>::max() / 10) factors.push_back(1);
    factors.back() *= 10;
  }
  return factors;
}

/// Multiplies a value; false: it is beyond `to`.
inline bool scale(Words256& number, std::span<std::uint64_t const> factors, DataType const& to) {
  bool is_exact = true;
  for (auto const factor : factors)
    if (factor != 1) is_exact = multiply(number, factor) && is_exact;
  return is_exact && (!type_row(to.id).is_signed || fits(number, static_cast<std::size_t>(byte_width(to))));
}

}  // namespace garuda::keys
