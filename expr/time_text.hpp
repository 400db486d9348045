// Dates and times as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/numbers/wide_integer.hpp"
#include "garuda/types.hpp"

namespace garuda::expr {

/// A time as a number of units, the greatest that is not beyond it.
struct TimeCount {
  Int128 units = 0;
  bool has_rest = false;  ///< the time is later, by less than a unit
};

/// Days since 1970-01-01: 2024-02-29, years 0000 to 9999. nullopt: `text` is no date.
std::optional<TimeCount> parse_date(std::string_view text);

/// Units since midnight: 12:30, 12:30:00 or 12:30:00.5, any number of digits. nullopt: `text` is no time of day.
std::optional<TimeCount> parse_time_of_day(std::string_view text, TimeUnit unit);

/// Units since 1970-01-01, in UTC with a zone: a date, then T or a space and a time of day, then, with a zone and not
/// without one, Z or an offset as +01:00 or +01. Without a zone the date may stand alone. nullopt: `text` is no such
/// time.
std::optional<TimeCount> parse_timestamp(std::string_view text, TimeUnit unit, bool has_zone);

}  // namespace garuda::expr
