#include "core/arrow/arrow_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "core/type_rows.hpp"

namespace garuda {
namespace {

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
  for (auto const& row : type_rows()) {
    if (row.family != TypeFamily::decimal || 8 * row.width != bits) continue;
    if (precision < 1 || precision > row.digits)
      return fail(ErrorCode::invalid_input,
                  fmt::format("decimal precision out of range [1, {}]: {}", row.digits, precision));
    if (scale < -row.digits || scale > row.digits)
      return fail(ErrorCode::invalid_input,
                  fmt::format("decimal scale out of range [{}, {}]: {}", -row.digits, row.digits, scale));
    return DataType{.id = row.id, .precision = precision, .scale = scale};
  }
  return fail(ErrorCode::invalid_input, fmt::format("decimal width is none of 32, 64, 128 and 256 bits: {}", bits));
}

/// A type with a unit, whose letter is the third one; behind that of a timestamp stands its zone.
Result<DataType> parse_time(std::string_view format) {
  auto const* const unit = std::ranges::find(kTimeUnits, format[2], &TimeUnitRow::letter);
  if (unit == std::end(kTimeUnits)) return malformed(format);
  bool const is_timestamp = format.starts_with("ts");
  if (is_timestamp ? !format.substr(3).starts_with(':') : format.size() != 3) return malformed(format);
  if (is_timestamp)
    return DataType{.id = TypeId::timestamp, .unit = unit->unit, .timezone = std::string(format.substr(4))};
  auto const time = unit->unit <= TimeUnit::millisecond ? TypeId::time32 : TypeId::time64;
  return DataType{.id = format.starts_with("tt") ? time : TypeId::duration, .unit = unit->unit};
}

}  // namespace

Result<DataType> parse_format(std::string_view format) {
  if (format.starts_with("d:")) return parse_decimal(format, format.substr(2));
  if (format.starts_with("w:")) {
    auto const width = parse_number(format.substr(2));
    if (!width) return malformed(format);
    if (*width < 1) {
      return fail(ErrorCode::invalid_input, fmt::format("fixed_size_binary width is below 1: {}", *width));
    }
    return DataType{.id = TypeId::fixed_size_binary, .fixed_byte_width = *width};
  }
  for (auto const& row : type_rows())
    if (row.format == format && !format.empty() && !has_unit(row.id)) return DataType{row.id};
  bool const may_have_unit = format.starts_with("tt") || format.starts_with("tD") || format.starts_with("ts");
  return may_have_unit && format.size() >= 3 ? parse_time(format) : malformed(format);
}

std::string format_string(DataType const& type) {
  auto const& row = type_row(type.id == TypeId::dictionary ? type.index : type.id);
  if (row.family == TypeFamily::decimal)
    return fmt::format("d:{},{}{}", type.precision, type.scale,
                       row.width == 16 ? "" : fmt::format(",{}", 8 * row.width));
  if (row.format.empty()) throw LogicError(fmt::format("type has no Arrow format string: {}", to_string(type)));
  if (type.id == TypeId::fixed_size_binary) return fmt::format("{}{}", row.format, type.fixed_byte_width);
  if (!has_unit(type.id)) return std::string(row.format);
  bool const is_timestamp = type.id == TypeId::timestamp;
  return fmt::format("{}{}{}{}", row.format, unit_row(type.unit).letter, is_timestamp ? ":" : "", type.timezone);
}

}  // namespace garuda
