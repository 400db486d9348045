#include "operators/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/bitmap.hpp"
#include "core/wide_integer.hpp"

namespace garuda::operators {
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

template <class T>
T load(ArrayView const& array, std::int64_t row) {
  T value;
  std::memcpy(&value,
              static_cast<std::byte const*>(array.values) + (array.offset + row) * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

/// An integer of the array's width, sign-extended.
Int128 load_integer(ArrayView const& array, std::int32_t width, bool is_signed, std::int64_t row) {
  switch (width) {
    case 1:
      return is_signed ? Int128{load<std::int8_t>(array, row)} : Int128{load<std::uint8_t>(array, row)};
    case 2:
      return is_signed ? Int128{load<std::int16_t>(array, row)} : Int128{load<std::uint16_t>(array, row)};
    case 4:
      return is_signed ? Int128{load<std::int32_t>(array, row)} : Int128{load<std::uint32_t>(array, row)};
    case 8:
      return is_signed ? Int128{load<std::int64_t>(array, row)} : Int128{load<std::uint64_t>(array, row)};
    default:
      return load<Int128>(array, row);
  }
}

std::string_view variable_bytes(ArrayView const& array, bool large, std::int64_t row) {
  auto const at = array.offset + row;
  auto const range = [&](auto const* offsets) {
    return std::string_view(static_cast<char const*>(array.values) + offsets[at],
                            static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
  };
  return large ? range(static_cast<std::int64_t const*>(array.offsets))
               : range(static_cast<std::int32_t const*>(array.offsets));
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
  switch (type.id) {
    case TypeId::boolean:
      return get_bit(static_cast<std::uint8_t const*>(array.values), array.offset + row) ? "true" : "false";
    case TypeId::float32:
      return fmt::format("{}", load<float>(array, row));
    case TypeId::float64:
      return fmt::format("{}", load<double>(array, row));
    case TypeId::utf8:
    case TypeId::large_utf8:
      return quoted(variable_bytes(array, has_large_offsets(type), row));
    case TypeId::binary:
    case TypeId::large_binary:
      return hexadecimal(variable_bytes(array, has_large_offsets(type), row));
    case TypeId::fixed_size_binary:
    case TypeId::float16:
    case TypeId::interval_day_time:
    case TypeId::interval_month_day_nano: {
      auto const width = static_cast<std::size_t>(byte_width(type));
      auto const at = static_cast<std::size_t>(array.offset + row) * width;
      return hexadecimal({static_cast<char const*>(array.values) + at, width});
    }
    case TypeId::dictionary: {
      auto const is_signed = type.index >= TypeId::int8 && type.index <= TypeId::int64;
      auto const index = load_integer(array, byte_width(type), is_signed, row);
      return text_of(*array.dictionary, *type.value, static_cast<std::int64_t>(index));
    }
    default:
      break;
  }
  auto const is_unsigned = type.id >= TypeId::uint8 && type.id <= TypeId::uint64;
  return decimal_text(load_integer(array, byte_width(type), !is_unsigned, row), type.scale);
}

}  // namespace

std::string value_text(TableView table, std::size_t column, std::uint64_t row) {
  auto rest = static_cast<std::int64_t>(row);
  std::size_t b = 0;
  while (rest >= table.batch(b).num_rows) rest -= table.batch(b++).num_rows;
  return text_of(table.batch(b).columns[column], table.schema()[column].type, rest);
}

}  // namespace garuda::operators
