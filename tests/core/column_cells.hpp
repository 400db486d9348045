// Single values of Arrow columns, read the slow and obvious way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/table.hpp"

namespace garuda::testing {

/// The bytes of row `i` of `array`, or nullopt for null. Booleans are "0" and "1"; of a dictionary: the value's bytes.
inline std::optional<std::string> cell(ArrayView const& array, DataType const& type, std::int64_t i) {
  if (array.is_null(i)) return std::nullopt;
  auto const at = array.offset + i;
  auto const* bytes = static_cast<char const*>(array.values);
  if (type.id == TypeId::boolean) return (static_cast<unsigned char>(bytes[at / 8]) >> (at % 8)) & 1 ? "1" : "0";
  if (type.id == TypeId::utf8 || type.id == TypeId::binary) {
    auto const* offsets = static_cast<std::int32_t const*>(array.offsets);
    return std::string(bytes + offsets[at], bytes + offsets[at + 1]);
  }
  if (type.id == TypeId::large_utf8 || type.id == TypeId::large_binary) {
    auto const* offsets = static_cast<std::int64_t const*>(array.offsets);
    return std::string(bytes + offsets[at], bytes + offsets[at + 1]);
  }
  if (type.id != TypeId::dictionary) {
    auto const width = byte_width(type);
    return std::string(bytes + at * width, bytes + (at + 1) * width);
  }
  std::int64_t index = 0;
  switch (type.index) {
    case TypeId::int8:
      index = array.data<std::int8_t>()[i];
      break;
    case TypeId::uint8:
      index = array.data<std::uint8_t>()[i];
      break;
    case TypeId::int16:
      index = array.data<std::int16_t>()[i];
      break;
    case TypeId::uint16:
      index = array.data<std::uint16_t>()[i];
      break;
    case TypeId::int32:
      index = array.data<std::int32_t>()[i];
      break;
    case TypeId::uint32:
      index = array.data<std::uint32_t>()[i];
      break;
    default:
      index = array.data<std::int64_t>()[i];
      break;
  }
  return cell(*array.dictionary, *type.value, index);
}

/// All values of a column.
inline std::vector<std::optional<std::string>> cells(ArrayView const& array, DataType const& type) {
  std::vector<std::optional<std::string>> values;
  for (std::int64_t i = 0; i < array.length; ++i) values.push_back(cell(array, type, i));
  return values;
}

/// All values of column `position` over all batches of a table.
inline std::vector<std::optional<std::string>> cells(TableView const& table, std::size_t position) {
  std::vector<std::optional<std::string>> values;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    for (auto& value : cells(table.batch(b).columns[position], table.schema()[position].type)) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

}  // namespace garuda::testing
