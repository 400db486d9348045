#include "operators/materialize/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"

namespace garuda::materialize {
namespace {

/// Longest text or binary value that a message shows whole.
constexpr std::size_t kShownBytes = 64;

std::string decimal_text(Int128 value, std::int32_t scale) {
  auto const negative = value < 0;
  auto magnitude = negative ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  } while (magnitude != 0);
  if (scale < 0) digits.append(static_cast<std::size_t>(-scale), '0');
  if (scale > 0) {
    auto const places = static_cast<std::size_t>(scale);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    digits.insert(digits.size() - places, 1, '.');
  }
  return negative ? "-" + digits : digits;
}

constexpr std::int64_t kSecondsOfDay = 86'400;

std::int64_t floor_divide(std::int64_t value, std::int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

/// `days` since 1970-01-01 as YYYY-MM-DD; nullopt outside the years that a calendar of four digits has.
std::optional<std::string> day_text(std::int64_t days) {
  constexpr std::int64_t kFirst = -719'162;  // 0001-01-01
  constexpr std::int64_t kLast = 2'932'896;  // 9999-12-31
  if (days < kFirst || days > kLast) return std::nullopt;
  std::chrono::year_month_day const date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::optional<std::string> moment_text(std::int64_t value, TimeUnitRow const& ticks) {
  auto const seconds = floor_divide(value, ticks.per_second);
  auto const days = floor_divide(seconds, kSecondsOfDay);
  auto text = day_text(days);
  if (!text) return std::nullopt;
  auto const of_day = seconds - days * kSecondsOfDay;
  *text += fmt::format(" {:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
  if (ticks.digits > 0) *text += fmt::format(".{:0{}}", value - seconds * ticks.per_second, ticks.digits);
  return text;
}

/// Dates and times as a calendar has them, of a timestamp in UTC; nullopt for other types and beyond four-digit years.
std::optional<std::string> calendar_text(std::int64_t value, DataType const& type) {
  constexpr std::int64_t kMillisecondsOfDay = kSecondsOfDay * 1000;
  if (type.id == TypeId::date32) return day_text(value);
  if (type.id == TypeId::date64) return day_text(floor_divide(value, kMillisecondsOfDay));
  if (type.id == TypeId::timestamp) return moment_text(value, unit_row(type.unit));
  return std::nullopt;
}

template <class T>
T load(ArrayView const& array, std::int64_t row) {
  return garuda::load<T>(static_cast<std::byte const*>(array.values), array.offset + row);
}

/// An integer of the array's width, sign-extended.
Int128 load_integer(ArrayView const& array, std::int32_t width, bool is_signed, std::int64_t row) {
  if (width == 16) return load<Int128>(array, row);
  return visit_integers(width, is_signed, [&]<class T>(T*) { return Int128{load<T>(array, row)}; });
}

std::string quoted(std::string_view bytes) {
  return fmt::format("'{}{}'", bytes.substr(0, kShownBytes), bytes.size() > kShownBytes ? "…" : "");
}

std::string hexadecimal(std::string_view bytes) {
  std::string text = "0x";
  for (auto const byte : bytes.substr(0, kShownBytes)) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return bytes.size() > kShownBytes ? text + "…" : text;
}

std::string text_of(ArrayView const& array, DataType const& type, std::int64_t row) {
  if (array.is_null(row)) return "null";
  auto const& type_of = type_row(type.id);
  auto const bytes = [&] { return bytes_at(array, type, array.offset + row); };
  switch (type_of.family) {
    case TypeFamily::boolean:
      return get_bit(static_cast<std::uint8_t const*>(array.values), array.offset + row) ? "true" : "false";
    case TypeFamily::floating:
      if (type_of.width == 2) return hexadecimal(bytes());
      return type_of.width == 4 ? fmt::format("{}", load<float>(array, row))
                                : fmt::format("{}", load<double>(array, row));
    case TypeFamily::bytes:
      return is_text(type.id) ? quoted(bytes()) : hexadecimal(bytes());
    case TypeFamily::dictionary: {
      auto const index = load_integer(array, byte_width(type), type_row(type.index).is_signed, row);
      return text_of(*array.dictionary, *type.value, static_cast<std::int64_t>(index));
    }
    default:
      break;
  }
  // Decimals of 256 bits and intervals of several parts stand in messages alone.
  if (type_of.width > 16 || (type_of.family == TypeFamily::interval && !type_of.is_signed)) return hexadecimal(bytes());
  auto const value = load_integer(array, type_of.width, type_of.is_signed, row);
  return calendar_text(static_cast<std::int64_t>(value), type).value_or(decimal_text(value, type.scale));
}

}  // namespace

std::string value_text(TableView table, std::size_t column, std::uint64_t row) {
  auto rest = static_cast<std::int64_t>(row);
  std::size_t b = 0;
  while (rest >= table.batch(b).num_rows) rest -= table.batch(b++).num_rows;
  return text_of(table.batch(b).columns[column], table.schema()[column].type, rest);
}

}  // namespace garuda::materialize
