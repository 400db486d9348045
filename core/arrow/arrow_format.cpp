#include "core/arrow/arrow_format.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "core/type_rows.hpp"

namespace garuda {
namespace {

struct PlainFormat {
  std::string_view format;
  TypeId id;
  TimeUnit unit = TimeUnit::second;
};

/// Every type whose format string is a fixed word.
constexpr std::array kPlainFormats{
    PlainFormat{"b", TypeId::boolean},
    PlainFormat{"c", TypeId::int8},
    PlainFormat{"C", TypeId::uint8},
    PlainFormat{"s", TypeId::int16},
    PlainFormat{"S", TypeId::uint16},
    PlainFormat{"i", TypeId::int32},
    PlainFormat{"I", TypeId::uint32},
    PlainFormat{"l", TypeId::int64},
    PlainFormat{"L", TypeId::uint64},
    PlainFormat{"e", TypeId::float16},
    PlainFormat{"f", TypeId::float32},
    PlainFormat{"g", TypeId::float64},
    PlainFormat{"z", TypeId::binary},
    PlainFormat{"Z", TypeId::large_binary},
    PlainFormat{"u", TypeId::utf8},
    PlainFormat{"U", TypeId::large_utf8},
    PlainFormat{"vz", TypeId::binary_view},
    PlainFormat{"vu", TypeId::utf8_view},
    PlainFormat{"tdD", TypeId::date32},
    PlainFormat{"tdm", TypeId::date64},
    PlainFormat{"tts", TypeId::time32, TimeUnit::second},
    PlainFormat{"ttm", TypeId::time32, TimeUnit::millisecond},
    PlainFormat{"ttu", TypeId::time64, TimeUnit::microsecond},
    PlainFormat{"ttn", TypeId::time64, TimeUnit::nanosecond},
    PlainFormat{"tDs", TypeId::duration, TimeUnit::second},
    PlainFormat{"tDm", TypeId::duration, TimeUnit::millisecond},
    PlainFormat{"tDu", TypeId::duration, TimeUnit::microsecond},
    PlainFormat{"tDn", TypeId::duration, TimeUnit::nanosecond},
    PlainFormat{"tiM", TypeId::interval_months},
    PlainFormat{"tiD", TypeId::interval_day_time},
    PlainFormat{"tin", TypeId::interval_month_day_nano},
};

tl::unexpected<Error> malformed(std::string_view format) {
  return fail(ErrorCode::invalid_input, fmt::format("malformed Arrow format string: '{}'", format));
}

/// The number that is the whole of `text`.
std::optional<std::int32_t> parse_number(std::string_view text) {
  std::int32_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

struct DecimalWidth {
  std::int32_t bits;
  TypeId id;
  std::int32_t max_precision;
};

constexpr std::array kDecimalWidths{DecimalWidth{32, TypeId::decimal32, 9}, DecimalWidth{64, TypeId::decimal64, 18},
                                    DecimalWidth{128, TypeId::decimal128, 38},
                                    DecimalWidth{256, TypeId::decimal256, 76}};

/// `parameters`: what follows "d:", that is precision,scale or precision,scale,bits.
Result<DataType> parse_decimal(std::string_view format, std::string_view parameters) {
  std::array<std::optional<std::int32_t>, 3> numbers{std::nullopt, std::nullopt, 128};
  std::size_t count = 0;
  while (true) {
    auto const comma = parameters.find(',');
    if (count == numbers.size()) return malformed(format);
    numbers[count++] = parse_number(parameters.substr(0, comma));
    if (comma == std::string_view::npos) break;
    parameters.remove_prefix(comma + 1);
  }
  if (!numbers[0] || !numbers[1] || !numbers[2]) return malformed(format);
  auto const [precision, scale, bits] = std::tuple(*numbers[0], *numbers[1], *numbers[2]);
  for (auto const& width : kDecimalWidths) {
    if (width.bits != bits) continue;
    if (precision < 1 || precision > width.max_precision) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("decimal precision out of range [1, {}]: {}", width.max_precision, precision));
    }
    if (scale < -width.max_precision || scale > width.max_precision) {
      return fail(ErrorCode::invalid_input, fmt::format("decimal scale out of range [{}, {}]: {}", -width.max_precision,
                                                        width.max_precision, scale));
    }
    return DataType{.id = width.id, .precision = precision, .scale = scale};
  }
  return fail(ErrorCode::invalid_input, fmt::format("decimal width is none of 32, 64, 128 and 256 bits: {}", bits));
}

}  // namespace

Result<DataType> parse_format(std::string_view format) {
  for (auto const& plain : kPlainFormats) {
    if (plain.format == format) return DataType{.id = plain.id, .unit = plain.unit};
  }
  if (format.starts_with("d:")) return parse_decimal(format, format.substr(2));
  if (format.starts_with("w:")) {
    auto const width = parse_number(format.substr(2));
    if (!width) return malformed(format);
    if (*width < 1) {
      return fail(ErrorCode::invalid_input, fmt::format("fixed_size_binary width is below 1: {}", *width));
    }
    return DataType{.id = TypeId::fixed_size_binary, .fixed_byte_width = *width};
  }
  if (format.size() >= 4 && format.starts_with("ts") && format[3] == ':') {
    for (auto const& row : kTimeUnits)
      if (row.letter == format[2])
        return DataType{.id = TypeId::timestamp, .unit = row.unit, .timezone = std::string(format.substr(4))};
    return malformed(format);
  }
  return malformed(format);
}

std::string format_string(DataType const& type) {
  switch (type.id) {
    case TypeId::decimal32:
      return fmt::format("d:{},{},32", type.precision, type.scale);
    case TypeId::decimal64:
      return fmt::format("d:{},{},64", type.precision, type.scale);
    case TypeId::decimal128:
      return fmt::format("d:{},{}", type.precision, type.scale);
    case TypeId::decimal256:
      return fmt::format("d:{},{},256", type.precision, type.scale);
    case TypeId::fixed_size_binary:
      return fmt::format("w:{}", type.fixed_byte_width);
    case TypeId::timestamp:
      return fmt::format("ts{}:{}", unit_row(type.unit).letter, type.timezone);
    default:
      break;
  }
  auto const id = type.id == TypeId::dictionary ? type.index : type.id;
  for (auto const& plain : kPlainFormats) {
    if (plain.id == id && plain.unit == type.unit) return std::string(plain.format);
  }
  throw LogicError(fmt::format("type has no Arrow format string: {}", to_string(type)));
}

}  // namespace garuda
