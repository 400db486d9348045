// Units that dates and times count.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/type_rows.hpp"
#include "expr/functions/calendar.hpp"
#include "garuda/types.hpp"

namespace garuda::expr {

inline bool is_time_of_day(TypeId id) noexcept { return id == TypeId::time32 || id == TypeId::time64; }

/// The units of a date, a time, a timestamp or a duration in a day.
inline std::int64_t units_of_day(DataType const& type) noexcept {
  if (type.id == TypeId::date32) return 1;
  return kSecondsOfADay * (type.id == TypeId::date64 ? 1'000 : unit_row(type.unit).per_second);
}

/// Calls body(units) with the units of a type in a day as a constant, by which divisions are products.
template <class Body>
decltype(auto) with_units_of_day(DataType const& type, Body const& body) {
  switch (units_of_day(type)) {
    case 1:
      return body(std::integral_constant<std::int64_t, 1>());
    case kSecondsOfADay:
      return body(std::integral_constant<std::int64_t, kSecondsOfADay>());
    case kSecondsOfADay * 1'000:
      return body(std::integral_constant<std::int64_t, kSecondsOfADay * 1'000>());
    case kSecondsOfADay * 1'000'000:
      return body(std::integral_constant<std::int64_t, kSecondsOfADay * 1'000'000>());
    default:
      return body(std::integral_constant<std::int64_t, kSecondsOfADay * 1'000'000'000>());
  }
}

}  // namespace garuda::expr
