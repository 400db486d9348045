// The proleptic Gregorian calendar over all days that 64 bits of seconds reach, years before 1 among them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace garuda::expr {

inline constexpr std::int64_t kSecondsOfADay = 86'400;

constexpr std::int64_t floor_quotient(std::int64_t value, std::int64_t by) noexcept {
  return value / by - (value % by < 0 ? 1 : 0);
}

/// A day of the calendar. Year 0 is the year before year 1.
struct CivilDay {
  std::int64_t year = 1970;
  std::int64_t month = 1;  ///< 1 to 12
  std::int64_t day = 1;    ///< 1 to 31
};

/// Days from 1970-01-01 to a day. Years are counted from March on, so that a leap day is a year's last one; 400 years
/// have 146,097 days (Hinnant, chrono-Compatible Low-Level Date Algorithms).
constexpr std::int64_t days_of(CivilDay const& civil) noexcept {
  auto const year = civil.year - (civil.month <= 2 ? 1 : 0);
  auto const era = floor_quotient(year, 400);
  auto const of_era = year - era * 400;
  auto const of_year = (153 * (civil.month + (civil.month > 2 ? -3 : 9)) + 2) / 5 + civil.day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

/// The day that lies `days` after 1970-01-01, of which |days| is at most 2^63 seconds'. Days are counted from a March 1
/// before them all, and fractions of centuries and years are products that are shifted (Neri and Schneider, Euclidean
/// affine functions and their application to calendar algorithms, 2022).
constexpr CivilDay civil_day(std::int64_t days) noexcept {
  constexpr std::int64_t kEras = std::int64_t{1} << 30;  // of 400 years, before 1970
  auto const quarters = 4 * static_cast<std::uint64_t>(days + 719'468 + 146'097 * kEras) + 3;
  auto const century = quarters / 146'097;
  auto const of_century = static_cast<std::uint32_t>(quarters % 146'097) | 3U;
  auto const years = std::uint64_t{2'939'745} * of_century;
  auto const of_year = static_cast<std::uint32_t>(years) / 2'939'745U / 4;
  auto const months = 2'141U * of_year + 197'913U;
  bool const is_after_december = of_year >= 306;
  CivilDay civil;
  civil.year = static_cast<std::int64_t>(100 * century + (years >> 32)) - 400 * kEras + (is_after_december ? 1 : 0);
  civil.month = static_cast<std::int64_t>(months >> 16) - (is_after_december ? 12 : 0);
  civil.day = static_cast<std::int64_t>((months & 0xFFFF) / 2'141U) + 1;
  return civil;
}

constexpr bool is_leap_year(std::int64_t year) noexcept {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr std::int64_t days_of_month(std::int64_t year, std::int64_t month) noexcept {
  constexpr std::int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && is_leap_year(year) ? 1 : 0);
}

/// The day `months` later; where its month is shorter, the month's last day. Requires: |months| below 2^62.
constexpr std::int64_t add_months(std::int64_t days, std::int64_t months) noexcept {
  auto civil = civil_day(days);
  auto const since_year_0 = civil.year * 12 + civil.month - 1 + months;
  civil.year = floor_quotient(since_year_0, 12);
  civil.month = since_year_0 - civil.year * 12 + 1;
  civil.day = std::min(civil.day, days_of_month(civil.year, civil.month));
  return days_of(civil);
}

/// 1 for Monday to 7 for Sunday.
constexpr std::int64_t iso_weekday(std::int64_t days) noexcept {
  return days + 3 - floor_quotient(days + 3, 7) * 7 + 1;
}

/// The ISO 8601 week that holds a day: the first one of a year holds its first Thursday.
struct IsoWeek {
  std::int64_t year = 1970;
  std::int64_t week = 1;
};
constexpr IsoWeek iso_week(std::int64_t days) noexcept {
  auto const thursday = days - iso_weekday(days) + 4;
  auto const year = civil_day(thursday).year;
  return {year, (thursday - days_of({year, 1, 1})) / 7 + 1};
}

}  // namespace garuda::expr
