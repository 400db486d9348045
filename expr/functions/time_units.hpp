// Units that dates and times count.
#pragma once

#include <cstdint>

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

}  // namespace garuda::expr
