// The table of types: a row for each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "garuda/types.hpp"

namespace garuda {

enum class TypeFamily : std::uint8_t {
  boolean,
  integer,
  floating,
  decimal,
  temporal,
  interval,
  bytes,
  dictionary,
  nested
};

struct TypeRow {
  TypeId id;
  std::string_view name;  ///< as Arrow spells it, without parameters
  std::int32_t width;     ///< bytes of a value; 0: it has no width of its own
  TypeFamily family;
  bool is_signed;           ///< integers in two's complement, whatever they stand for
  std::string_view format;  ///< in Arrow's C data interface, but for parameters and the letter of a unit
  std::int32_t digits = 0;  ///< most decimal digits of a value of integers and decimals
};

TypeRow const& type_row(TypeId id) noexcept;
/// All of them, in the order of TypeId.
std::span<TypeRow const> type_rows() noexcept;

/// The type of a column's values: of a dictionary column that of its dictionary, else the column's own.
inline DataType const& value_type(DataType const& type) noexcept {
  return type.id == TypeId::dictionary ? *type.value : type;
}

/// Whether values count the unit of their type: times of day, timestamps and durations.
inline bool has_unit(TypeId id) noexcept { return id >= TypeId::time32 && id <= TypeId::duration; }

/// Whether values are strings, not binary.
inline bool is_text(TypeId id) noexcept {
  return id == TypeId::utf8 || id == TypeId::large_utf8 || id == TypeId::utf8_view;
}

/// Strings, or binary, behind offsets of 64 bits, as `id` is one of them.
inline TypeId large_bytes(TypeId id) noexcept { return is_text(id) ? TypeId::large_utf8 : TypeId::large_binary; }

/// Whether wider values of a type continue with their sign: signed integers, and what is stored as such.
inline bool continues_by_sign(TypeId id) noexcept {
  return type_row(id).is_signed && type_row(id).family != TypeFamily::interval;
}

/// True for the eight integer types, those that can index a dictionary.
inline bool is_integer(TypeId id) noexcept { return type_row(id).family == TypeFamily::integer; }

/// Names of a time's unit, and how many of it are in a second.
struct TimeUnitRow {
  TimeUnit unit;
  std::string_view name;
  char letter;  ///< in a format string of Arrow's
  std::int64_t per_second;
  int digits;  ///< of a second's fraction
};

inline constexpr TimeUnitRow kTimeUnits[] = {{TimeUnit::second, "s", 's', 1, 0},
                                             {TimeUnit::millisecond, "ms", 'm', 1'000, 3},
                                             {TimeUnit::microsecond, "us", 'u', 1'000'000, 6},
                                             {TimeUnit::nanosecond, "ns", 'n', 1'000'000'000, 9}};

inline TimeUnitRow const& unit_row(TimeUnit unit) noexcept { return kTimeUnits[static_cast<std::size_t>(unit)]; }

}  // namespace garuda
