// Dates and timestamps of single rows, counted year by year and month by month.
#include <algorithm>
#include <array>
#include <cstdio>
#include <regex>

#include "tests/expr/row_values.hpp"

namespace garuda::expr {
namespace {

constexpr Int128 kDayMicroseconds = Int128{86'400} * 1'000'000;

/// A day counted from 1970-01-01.
struct Day {
  Int128 year = 1970;
  int month = 1;
  int day = 1;
};

Int128 floor_of(Int128 value, Int128 by) { return value / by - (value % by < 0 ? 1 : 0); }

bool is_leap(Int128 year) {
  auto const of_cycle = year - floor_of(year, 400) * 400;
  return of_cycle % 4 == 0 && (of_cycle % 100 != 0 || of_cycle == 0);
}

int month_length(Int128 year, int month) {
  std::array const lengths{31, is_leap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return lengths[static_cast<std::size_t>(month - 1)];
}

Day day_of(Int128 days) {
  Day day;
  auto const cycles = floor_of(days, 146'097);
  day.year += cycles * 400;
  auto left = days - cycles * 146'097;
  for (; left >= (is_leap(day.year) ? 366 : 365); ++day.year) left -= is_leap(day.year) ? 366 : 365;
  for (; left >= month_length(day.year, day.month); ++day.month) left -= month_length(day.year, day.month);
  day.day += static_cast<int>(left);
  return day;
}

Int128 days_to(Day const& day) {
  auto const cycles = floor_of(day.year - 1970, 400);
  Int128 days = cycles * 146'097;
  for (auto year = 1970 + cycles * 400; year < day.year; ++year) days += is_leap(year) ? 366 : 365;
  for (int month = 1; month < day.month; ++month) days += month_length(day.year, month);
  return days + day.day - 1;
}

/// 1 for Monday; 1970-01-01 was a Thursday.
int weekday_of(Int128 days) { return static_cast<int>(days + 3 - floor_of(days + 3, 7) * 7) + 1; }

/// The Monday of week 1: the week of January 4.
Int128 first_monday(Int128 year) {
  auto const fourth = days_to({year, 1, 4});
  return fourth - weekday_of(fourth) + 1;
}

bool is_date(DataType const& type) { return type.id == TypeId::date32; }
Int128 day_units(DataType const& type) { return is_date(type) ? 1 : kDayMicroseconds; }

Int128 field_of(TimeField field, Int128 days, Int128 microseconds) {
  auto const day = day_of(days);
  auto week_year = day.year + 1;
  while (first_monday(week_year) > days) --week_year;
  switch (field) {
    case TimeField::year:
      return day.year;
    case TimeField::iso_year:
      return week_year;
    case TimeField::quarter:
      return (day.month - 1) / 3 + 1;
    case TimeField::month:
      return day.month;
    case TimeField::week:
      return (days - first_monday(week_year)) / 7 + 1;
    case TimeField::day:
      return day.day;
    case TimeField::day_of_year:
      return days - days_to({day.year, 1, 1}) + 1;
    case TimeField::day_of_week:
      return weekday_of(days) % 7;
    case TimeField::iso_day_of_week:
      return weekday_of(days);
    case TimeField::hour:
      return microseconds / 3'600'000'000;
    case TimeField::minute:
      return microseconds / 60'000'000 % 60;
    case TimeField::second:
      return microseconds / 1'000'000 % 60;
    case TimeField::millisecond:
      return microseconds % 60'000'000 / 1'000;
    case TimeField::microsecond:
      return microseconds % 60'000'000;
    default:
      return microseconds % 60'000'000 * 1'000;
  }
}

Int128 truncated(TimeField field, Int128 days, Int128 microseconds) {
  auto day = day_of(days);
  auto const start = [&](Int128 unit) { return days * kDayMicroseconds + microseconds / unit * unit; };
  switch (field) {
    case TimeField::year:
      return days_to({day.year, 1, 1}) * kDayMicroseconds;
    case TimeField::quarter:
      return days_to({day.year, (day.month - 1) / 3 * 3 + 1, 1}) * kDayMicroseconds;
    case TimeField::month:
      return days_to({day.year, day.month, 1}) * kDayMicroseconds;
    case TimeField::week:
      return (days - weekday_of(days) + 1) * kDayMicroseconds;
    case TimeField::day:
      return days * kDayMicroseconds;
    case TimeField::hour:
      return start(3'600'000'000);
    case TimeField::minute:
      return start(60'000'000);
    case TimeField::second:
      return start(1'000'000);
    case TimeField::millisecond:
      return start(1'000);
    default:
      return start(1);
  }
}

Int128 with_interval(Expression const& expression, Int128 days, Int128 microseconds) {
  auto const number = [&](std::size_t i) { return Int128{std::get<std::int64_t>(expression.arguments[i].value)}; };
  auto day = day_of(days);
  for (auto months = number(1); months != 0; months += months > 0 ? -1 : 1) {
    day.month += months > 0 ? 1 : -1;
    if (day.month == 13) day = {day.year + 1, 1, day.day};
    if (day.month == 0) day = {day.year - 1, 12, day.day};
  }
  day.day = std::min(day.day, month_length(day.year, day.month));
  return (days_to(day) + number(2)) * kDayMicroseconds + microseconds + number(3);
}

/// What fits the type; nullopt: it does not.
std::optional<Int128> stored(Int128 microseconds, DataType const& type) {
  auto const value = is_date(type) ? floor_of(microseconds, kDayMicroseconds) : microseconds;
  auto const most = (Int128{1} << (is_date(type) ? 31 : 63)) - 1;
  return value > most || value < -most - 1 ? std::nullopt : std::optional(value);
}

}  // namespace

Cell time_value(Expression const& expression, Cell const& a) {
  auto const& type = expression.arguments[0].type;
  auto const days = floor_of(a.integer, day_units(type));
  auto const microseconds = is_date(type) ? 0 : a.integer - days * kDayMicroseconds;
  if (expression.function == Function::extract) {
    if (expression.field != TimeField::epoch) return {false, field_of(expression.field, days, microseconds), 0};
    return {false, 0, is_date(type) ? static_cast<double>(days * 86'400) : static_cast<double>(a.integer) / 1e6};
  }
  auto const moment = expression.function == Function::truncate ? truncated(expression.field, days, microseconds)
                                                                : with_interval(expression, days, microseconds);
  auto const value = stored(moment, type);
  return value ? Cell{false, *value, 0} : lost(expression.on_failure);
}

std::optional<Int128> to_time(Cell const& from, DataType const& from_type, DataType const& type) {
  return stored(from.integer * (kDayMicroseconds / day_units(from_type)), type);
}

std::string time_digits(Int128 value, DataType const& type) {
  auto const days = floor_of(value, day_units(type));
  auto const day = day_of(days);
  auto const year = static_cast<long long>(day.year < 0 ? -day.year : day.year);
  char text[64];
  std::snprintf(text, sizeof(text), "%s%04lld-%02d-%02d", day.year < 0 ? "-" : "", year, day.month, day.day);
  if (is_date(type)) return text;
  auto const rest = static_cast<long long>(value - days * kDayMicroseconds);
  char time[64];
  std::snprintf(time, sizeof(time), " %02lld:%02lld:%02lld.%06lld", rest / 3'600'000'000, rest / 60'000'000 % 60,
                rest / 1'000'000 % 60, rest % 1'000'000);
  std::string shortened(time);
  if (rest % 1'000'000 == 0) shortened.resize(shortened.find('.'));
  while (rest % 1'000'000 != 0 && shortened.back() == '0') shortened.pop_back();
  return text + shortened;
}

std::optional<Int128> read_time_digits(std::string const& text, DataType const& type) {
  std::smatch found;
  auto const bare = without_outer_spaces(text);
  // A timestamp may have an offset from UTC.
  std::regex const form(
      "([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]+))?)?"
      "(Z|([+-])([0-9]{2})(?::([0-9]{2}))?)?)?");
  if (!std::regex_match(bare, found, form) || (is_date(type) && found[4].matched)) return std::nullopt;
  auto const number = [&](std::size_t i) { return found[i].matched ? std::stoi(found[i]) : 0; };
  Day const day{number(1), number(2), number(3)};
  if (day.month < 1 || day.month > 12 || day.day < 1 || day.day > month_length(day.year, day.month))
    return std::nullopt;
  if (number(4) > 23 || number(5) > 59 || number(6) > 59 || number(10) > 23 || number(11) > 59) return std::nullopt;
  auto const fraction = found[7].matched ? std::stoi((found[7].str() + "000000").substr(0, 6)) : 0;
  auto const ahead = (Int128{number(10)} * 60 + number(11)) * (found[9] == "-" ? -60 : 60);
  auto const seconds = Int128{number(4)} * 3'600 + Int128{number(5)} * 60 + number(6) - ahead;
  return stored(days_to(day) * kDayMicroseconds + seconds * 1'000'000 + fraction, type);
}

}  // namespace garuda::expr
