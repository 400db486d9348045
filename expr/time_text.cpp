#include "expr/time_text.hpp"

#include <cctype>
#include <chrono>
#include <cstddef>

#include "core/type_rows.hpp"

namespace garuda::expr {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kDaySeconds = 86'400;
constexpr int kNanosecondDigits = 9;

/// A time to nanoseconds.
struct Instant {
  Int128 nanoseconds = 0;
  bool has_rest = false;
};

/// Reads parts of a text from its front; what it cannot read it leaves.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : text_(text) {}

  bool at_end() const noexcept { return text_.empty(); }

  bool skip(char c) noexcept {
    bool const is_there = text_.starts_with(c);
    if (is_there) text_.remove_prefix(1);
    return is_there;
  }

  /// A number of `digits` digits, at most `most`.
  std::optional<int> number(std::size_t digits, int most) noexcept {
    if (text_.size() < digits) return std::nullopt;
    int value = 0;
    for (auto const c : text_.substr(0, digits)) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
      value = 10 * value + (c - '0');
    }
    if (value > most) return std::nullopt;
    text_.remove_prefix(digits);
    return value;
  }

  std::optional<std::int64_t> date() {
    auto const year = number(4, 9'999);
    if (!year || !skip('-')) return std::nullopt;
    auto const month = number(2, 12);
    if (!month || !skip('-')) return std::nullopt;
    auto const day = number(2, 31);
    if (!day) return std::nullopt;
    std::chrono::year_month_day const date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days(date).time_since_epoch().count();
  }

  std::optional<Instant> time_of_day() {
    auto const hours = number(2, 23);
    if (!hours || !skip(':')) return std::nullopt;
    auto const minutes = number(2, 59);
    if (!minutes) return std::nullopt;
    Instant time;
    int seconds = 0;
    if (skip(':')) {
      auto const found = number(2, 59);
      if (!found) return std::nullopt;
      seconds = *found;
      if (skip('.') && !fraction(time)) return std::nullopt;
    }
    time.nanoseconds += Int128{(*hours * 60 + *minutes) * 60 + seconds} * kNanoseconds;
    return time;
  }

  /// Seconds that local time is ahead of UTC.
  std::optional<std::int64_t> zone() {
    if (skip('Z')) return 0;
    bool const is_behind = text_.starts_with('-');
    if (!skip('-') && !skip('+')) return std::nullopt;
    auto const hours = number(2, 23);
    if (!hours) return std::nullopt;
    int minutes = 0;
    if (skip(':')) {
      auto const found = number(2, 59);
      if (!found) return std::nullopt;
      minutes = *found;
    }
    auto const seconds = std::int64_t{60} * (60 * *hours + minutes);
    return is_behind ? -seconds : seconds;
  }

 private:
  bool fraction(Instant& time) noexcept {
    int digits = 0;
    std::int64_t nanoseconds = 0;
    for (std::optional<int> digit; (digit = number(1, 9)); ++digits) {
      if (digits < kNanosecondDigits)
        nanoseconds = 10 * nanoseconds + *digit;
      else
        time.has_rest = time.has_rest || *digit != 0;
    }
    for (auto missing = digits; missing < kNanosecondDigits; ++missing) nanoseconds *= 10;
    time.nanoseconds = nanoseconds;
    return digits > 0;
  }

  std::string_view text_;
};

TimeCount in_units(Instant const& time, TimeUnit unit) {
  auto const per_unit = kNanoseconds / unit_row(unit).per_second;
  auto units = time.nanoseconds / per_unit;
  auto const rest = time.nanoseconds % per_unit;
  if (rest < 0) --units;
  return {units, rest != 0 || time.has_rest};
}

}  // namespace

std::optional<TimeCount> parse_date(std::string_view text) {
  TimeReader reader(text);
  auto const days = reader.date();
  if (!days || !reader.at_end()) return std::nullopt;
  return TimeCount{*days, false};
}

std::optional<TimeCount> parse_time_of_day(std::string_view text, TimeUnit unit) {
  TimeReader reader(text);
  auto const time = reader.time_of_day();
  if (!time || !reader.at_end()) return std::nullopt;
  return in_units(*time, unit);
}

std::optional<TimeCount> parse_timestamp(std::string_view text, TimeUnit unit, bool has_zone) {
  TimeReader reader(text);
  auto const days = reader.date();
  if (!days) return std::nullopt;
  Instant time;
  if (has_zone || !reader.at_end()) {
    if (!reader.skip('T') && !reader.skip(' ')) return std::nullopt;
    auto const of_day = reader.time_of_day();
    if (!of_day) return std::nullopt;
    time = *of_day;
  }
  time.nanoseconds += Int128{*days} * kDaySeconds * kNanoseconds;
  if (has_zone) {
    auto const ahead = reader.zone();
    if (!ahead) return std::nullopt;
    time.nanoseconds -= Int128{*ahead} * kNanoseconds;
  }
  if (!reader.at_end()) return std::nullopt;
  return in_units(time, unit);
}

}  // namespace garuda::expr
