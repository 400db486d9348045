// Fields, truncation and intervals of dates, times of day and timestamps.
#include "expr/functions/calendar.hpp"
#include "expr/functions/step_functions.hpp"
#include "expr/functions/time_units.hpp"

namespace garuda::expr {
namespace {

constexpr std::int64_t kMicroseconds = 1'000'000;

/// A value as a day and the units of its time of day.
struct DayAndTime {
  std::int64_t day = 0;
  std::int64_t of_day = 0;
};

DayAndTime divided(std::int64_t value, std::int64_t per_day) noexcept {
  auto const day = floor_quotient(value, per_day);
  return {day, static_cast<std::int64_t>(value - Int128{day} * per_day)};
}

/// The first day of the year, quarter, month or week that holds a day.
std::int64_t first_day(TimeField field, std::int64_t day) noexcept {
  if (field == TimeField::week) return day - iso_weekday(day) + 1;
  if (field > TimeField::month) return day;
  auto civil = civil_day(day);
  civil.day = 1;
  if (field == TimeField::quarter) civil.month -= (civil.month - 1) % 3;
  if (field == TimeField::year) civil.month = 1;
  return days_of(civil);
}

std::int64_t field_of_day(TimeField field, std::int64_t day) noexcept {
  switch (field) {
    case TimeField::year:
      return civil_day(day).year;
    case TimeField::iso_year:
      return iso_week(day).year;
    case TimeField::quarter:
      return (civil_day(day).month + 2) / 3;
    case TimeField::month:
      return civil_day(day).month;
    case TimeField::week:
      return iso_week(day).week;
    case TimeField::day:
      return civil_day(day).day;
    case TimeField::day_of_year:
      return day - first_day(TimeField::year, day) + 1;
    case TimeField::day_of_week:
      return iso_weekday(day) % 7;
    default:
      return iso_weekday(day);
  }
}

/// The number of a field's units in a second, where it is a part of a second.
std::int64_t parts_of_second(TimeField field) noexcept {
  switch (field) {
    case TimeField::millisecond:
      return 1'000;
    case TimeField::microsecond:
      return kMicroseconds;
    default:
      return 1'000'000'000;
  }
}

std::int64_t field_of_time(TimeField field, std::int64_t of_day, std::int64_t per_second) noexcept {
  auto const second = of_day / per_second;
  if (field == TimeField::hour) return second / 3'600;
  if (field == TimeField::minute) return second / 60 % 60;
  if (field == TimeField::second) return second % 60;
  auto const parts = parts_of_second(field);
  auto const rest = of_day % per_second;
  return second % 60 * parts + (parts >= per_second ? rest * (parts / per_second) : rest / (per_second / parts));
}

/// Units of a value that a field's unit has, where it is a part of a day; at least 1.
std::int64_t units_of_field(TimeField field, std::int64_t per_second) noexcept {
  if (field == TimeField::hour) return per_second * 3'600;
  if (field == TimeField::minute) return per_second * 60;
  if (field == TimeField::second) return per_second;
  return std::max<std::int64_t>(per_second / parts_of_second(field), 1);
}

/// Dates have no time of day: their second is none of a unit of theirs.
std::int64_t units_of_second(DataType const& type) noexcept {
  return type.id == TypeId::date32 ? 1 : units_of_day(type) / kSecondsOfADay;
}

Outcome written(Int128 value, auto& to) noexcept {
  to = static_cast<std::remove_reference_t<decltype(to)>>(value);
  return Int128{to} == value ? Outcome::fine : Outcome::undefined;
}

/// Sets each result to what of_day(day) returns of the day that holds a value.
template <class Value, class OfDay>
void map_days(StepFrame const& frame, OfDay const& of_day) {
  with_units_of_day(frame.detail->operands[0], [&](auto units) {
    map_total<Value, std::int64_t>(
        frame, [&](Value value) { return of_day(floor_quotient(std::int64_t{value}, decltype(units)::value)); });
  });
}

template <class Value>
void extract_fields(StepFrame const& frame) {
  auto const field = frame.detail->field;
  auto const& type = frame.detail->operands[0];
  auto const per_second = units_of_second(type);
  switch (field) {
    case TimeField::epoch:
      if (type.id == TypeId::date32)
        return map_total<Value, double>(
            frame, [](Value value) { return static_cast<double>(std::int64_t{value} * kSecondsOfADay); });
      return map_total<Value, double>(
          frame, [=](Value value) { return static_cast<double>(value) / static_cast<double>(per_second); });
    case TimeField::year:
      return map_days<Value>(frame, [](std::int64_t day) { return civil_day(day).year; });
    case TimeField::month:
      return map_days<Value>(frame, [](std::int64_t day) { return civil_day(day).month; });
    case TimeField::day:
      return map_days<Value>(frame, [](std::int64_t day) { return civil_day(day).day; });
    default:
      break;
  }
  if (field < TimeField::hour)
    return map_days<Value>(frame, [=](std::int64_t day) { return field_of_day(field, day); });
  with_units_of_day(type, [&](auto units) {
    map_total<Value, std::int64_t>(
        frame, [=](Value value) { return field_of_time(field, divided(value, units).of_day, per_second); });
  });
}

template <class Value>
void truncate_values(StepFrame const& frame) {
  auto const field = frame.detail->field;
  auto const& type = frame.detail->operands[0];
  if (field < TimeField::hour)
    return with_units_of_day(type, [&](auto units) {
      map_partial<Value, Value>(frame, [=](Value value, Value& to) {
        return written(Int128{first_day(field, floor_quotient(value, units))} * std::int64_t{units}, to);
      });
    });
  auto const unit = type.id == TypeId::date32 ? 1 : units_of_field(field, units_of_second(type));
  map_partial<Value, Value>(
      frame, [=](Value value, Value& to) { return written(Int128{floor_quotient(value, unit)} * unit, to); });
}

template <class Value>
void add_intervals(StepFrame const& frame) {
  constexpr std::int64_t kMostMonths = std::int64_t{1} << 40;  // beyond all dates
  auto const [months, days, microseconds] = frame.detail->numbers;
  auto const& type = frame.detail->operands[0];
  auto const per_day = units_of_day(type);
  map_partial<Value, Value>(
      frame, [=, months = months, days = days, microseconds = microseconds](Value value, Value& to) {
        if (months > kMostMonths || months < -kMostMonths) return Outcome::undefined;
        auto const from = divided(value, per_day);
        auto const day = Int128{months == 0 ? from.day : add_months(from.day, months)} + days;
        // In microseconds, or in the units of the type where these are finer.
        auto const fine = std::max(per_day, kSecondsOfADay * kMicroseconds);
        auto const moment = (day * per_day + from.of_day) * (fine / per_day) +
                            Int128{microseconds} * (fine / (kSecondsOfADay * kMicroseconds));
        auto const whole = type.id == TypeId::date64 ? kSecondsOfADay * 1'000 : 1;  // whole days alone
        auto const unit = Int128{fine / per_day} * whole;
        return written((moment / unit - (moment % unit < 0 ? 1 : 0)) * whole, to);
      });
}

}  // namespace

void compute_times(StepFrame const& frame) {
  auto const put = [&]<class Value>(Value) {
    if (frame.step.function == Function::extract) return extract_fields<Value>(frame);
    if (frame.step.function == Function::truncate) return truncate_values<Value>(frame);
    add_intervals<Value>(frame);
  };
  frame.step.operands == Kind::int32 ? put(std::int32_t{}) : put(std::int64_t{});
}

}  // namespace garuda::expr
