#include "tests/reference/column_reader.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "core/arrow/arrow_format.hpp"
#include "core/nested/nested_layout.hpp"
#include "garuda/arrow_abi.h"
#include "tests/reference/big_number.hpp"
#include "tests/reference/cell_values.hpp"

namespace garuda::reference {
namespace {

bool bit_at(void const* bitmap, std::int64_t i) {
  return ((static_cast<unsigned char const*>(bitmap)[i / 8] >> (i % 8)) & 1) == 1;
}

template <class T>
T value_at(void const* values, std::int64_t i) {
  T value;
  std::memcpy(&value, static_cast<char const*>(values) + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

std::vector<std::uint64_t> words_at(void const* values, std::int64_t i, std::int64_t words) {
  std::vector<std::uint64_t> value;
  for (std::int64_t w = 0; w < words; ++w) value.push_back(value_at<std::uint64_t>(values, words * i + w));
  return value;
}

/// Decimal digits of an integer in two's complement, low word first.
std::string decimal_text(std::vector<std::uint64_t> words) {
  bool const negative = words.back() >> 63 != 0;
  bool carry = negative;
  BigNatural number;
  for (std::size_t w = 0; w < words.size(); ++w) {
    auto const word = (negative ? ~words[w] : words[w]) + (carry ? 1 : 0);
    carry = carry && word == 0;
    number.add_shifted(word, static_cast<std::uint32_t>(64 * w));
  }
  auto const digits = number.is_zero() ? std::string("0") : number.digits();
  return negative ? "-" + digits : digits;
}

template <class Offset>
std::string bytes_at(ArrayView const& array, std::int64_t i) {
  auto const begin = value_at<Offset>(array.offsets, i);
  auto const end = value_at<Offset>(array.offsets, i + 1);
  return {static_cast<char const*>(array.values) + begin, static_cast<std::size_t>(end - begin)};
}

std::int64_t integer_at(TypeId id, void const* values, std::int64_t i) {
  switch (id) {
    case TypeId::int8:
      return value_at<std::int8_t>(values, i);
    case TypeId::int16:
      return value_at<std::int16_t>(values, i);
    case TypeId::uint8:
      return value_at<std::uint8_t>(values, i);
    case TypeId::uint16:
      return value_at<std::uint16_t>(values, i);
    case TypeId::uint32:
      return value_at<std::uint32_t>(values, i);
    case TypeId::int32:
    case TypeId::date32:
    case TypeId::time32:
    case TypeId::decimal32:
      return value_at<std::int32_t>(values, i);
    case TypeId::int64:
    case TypeId::date64:
    case TypeId::time64:
    case TypeId::timestamp:
    case TypeId::duration:
    case TypeId::decimal64:
      return value_at<std::int64_t>(values, i);
    default:
      throw std::runtime_error("the oracle has no text form for this type");
  }
}

DataType type_of(NestedType const& node) {
  auto type = parse_format(node.format).value();
  if (!node.dictionary) return type;
  return {
      .id = TypeId::dictionary, .index = type.id, .value = std::make_shared<DataType const>(type_of(*node.dictionary))};
}

ArrayView view_of(ArrowArray const& array, DataType const& type) {
  ArrayView view;
  view.length = array.length;
  view.offset = array.offset;
  view.validity = static_cast<std::uint8_t const*>(array.buffers[0]);
  if (is_variable_width(type)) view.offsets = array.buffers[1];
  view.values = array.buffers[is_variable_width(type) ? 2 : 1];
  return view;
}

/// The elements of list `i`, of plain types or dictionaries.
std::string list_text(NestedType const& node, ArrowArray const& lists, std::int64_t i) {
  if (node.format != "+l") throw std::runtime_error("the oracle has no text form for this type");
  auto const element = type_of(node.children[0]);
  auto const& child = *lists.children[0];
  auto elements = view_of(child, element);
  ViewBuffers data;
  if (element.id == TypeId::utf8_view || element.id == TypeId::binary_view) {
    data.buffers = child.buffers + 2;
    elements.offsets = &data;
  }
  ArrayView values;
  if (element.id == TypeId::dictionary) {
    values = view_of(*child.dictionary, *element.value);
    elements.dictionary = &values;
  }
  std::string text = "[";
  auto const* const offsets = lists.buffers[1];
  for (auto e = value_at<std::int32_t>(offsets, i); e < value_at<std::int32_t>(offsets, i + 1); ++e)
    text += read_cell(element, elements, e).value_or("null") + ";";
  return text + "]";
}

}  // namespace

std::optional<std::string> read_cell(DataType const& type, ArrayView const& array, std::int64_t row) {
  auto const i = array.offset + row;
  if (array.validity != nullptr && !bit_at(array.validity, i)) return std::nullopt;
  switch (type.id) {
    case TypeId::boolean:
      return bit_at(array.values, i) ? "true" : "false";
    case TypeId::uint64:
      return std::to_string(value_at<std::uint64_t>(array.values, i));
    case TypeId::float16:
      return hexadecimal(value_at<std::uint16_t>(array.values, i), 4);
    case TypeId::float32:
      return hexadecimal(value_at<std::uint32_t>(array.values, i), 8);
    case TypeId::float64:
      return hexadecimal(value_at<std::uint64_t>(array.values, i), 16);
    case TypeId::decimal128:
      return decimal_text(words_at(array.values, i, 2));
    case TypeId::decimal256:
      return decimal_text(words_at(array.values, i, 4));
    case TypeId::utf8_view:
    case TypeId::binary_view: {
      auto const length = value_at<std::int32_t>(array.values, 4 * i);
      auto const* const inline_bytes = static_cast<char const*>(array.values) + 16 * i + 4;
      if (length <= 12) return std::string(inline_bytes, static_cast<std::size_t>(length));
      auto const& data = *static_cast<ViewBuffers const*>(array.offsets);
      auto const buffer = value_at<std::int32_t>(array.values, 4 * i + 2);
      auto const offset = value_at<std::int32_t>(array.values, 4 * i + 3);
      return std::string(static_cast<char const*>(data.buffers[buffer]) + offset, static_cast<std::size_t>(length));
    }
    case TypeId::fixed_size_binary:
      return std::string(static_cast<char const*>(array.values) + i * type.fixed_byte_width,
                         static_cast<std::size_t>(type.fixed_byte_width));
    case TypeId::utf8:
    case TypeId::binary:
      return bytes_at<std::int32_t>(array, i);
    case TypeId::large_utf8:
    case TypeId::large_binary:
      return bytes_at<std::int64_t>(array, i);
    case TypeId::dictionary:
      return read_cell(*type.value, *array.dictionary,
                       type.index == TypeId::uint64 ? value_at<std::int64_t>(array.values, i)
                                                    : integer_at(type.index, array.values, i));
    case TypeId::nested:
      return list_text(*type.nested, *static_cast<ArrowArray const*>(array.values), i);
    default:
      return std::to_string(integer_at(type.id, array.values, i));
  }
}

std::size_t column_named(TableView table, std::string const& name) { return column_named(table.schema(), name); }

std::size_t column_named(Schema const& schema, std::string const& name) {
  for (std::size_t c = 0; c < schema.size(); ++c)
    if (schema[c].name == name) return c;
  throw std::runtime_error("no column " + name);
}

}  // namespace garuda::reference
