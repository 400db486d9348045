#include "python/extension/cells.hpp"

#include <string_view>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/variable_value.hpp"

namespace nb = nanobind;

namespace garuda::python {
namespace {

template <class T>
T value_at(ArrayView const& array, std::int64_t row) {
  return load<T>(static_cast<std::byte const*>(array.values), array.offset + row);
}

nb::object bytes_of(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

/// Text that is not UTF-8 shows as its bytes.
nb::object text_of(std::string_view bytes) {
  auto* const text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr);
  if (text != nullptr) return nb::steal(text);
  PyErr_Clear();
  return bytes_of(bytes);
}

std::int64_t index_at(ArrayView const& array, TypeId type, std::int64_t row) {
  switch (type) {
    case TypeId::int8:
      return value_at<std::int8_t>(array, row);
    case TypeId::uint8:
      return value_at<std::uint8_t>(array, row);
    case TypeId::int16:
      return value_at<std::int16_t>(array, row);
    case TypeId::uint16:
      return value_at<std::uint16_t>(array, row);
    case TypeId::int32:
      return value_at<std::int32_t>(array, row);
    case TypeId::uint32:
      return value_at<std::uint32_t>(array, row);
    default:
      return value_at<std::int64_t>(array, row);
  }
}

}  // namespace

nb::object cell(ArrayView const& array, DataType const& type, std::int64_t row) {
  if (type.id == TypeId::nested) return nb::borrow(Py_Ellipsis);
  if (array.is_null(row)) return nb::none();
  switch (type.id) {
    case TypeId::boolean:
      return nb::bool_(get_bit(static_cast<std::uint8_t const*>(array.values), array.offset + row));
    case TypeId::float32:
      return nb::float_(static_cast<double>(value_at<float>(array, row)));
    case TypeId::float64:
      return nb::float_(value_at<double>(array, row));
    case TypeId::uint64:
      return nb::int_(value_at<std::uint64_t>(array, row));
    case TypeId::int8:
    case TypeId::int16:
    case TypeId::uint8:
    case TypeId::uint16:
    case TypeId::uint32:
      return nb::int_(index_at(array, type.id, row));
    case TypeId::int32:
    case TypeId::date32:
    case TypeId::time32:
    case TypeId::interval_months:
      return nb::int_(index_at(array, TypeId::int32, row));
    case TypeId::int64:
    case TypeId::date64:
    case TypeId::time64:
    case TypeId::timestamp:
    case TypeId::duration:
      return nb::int_(value_at<std::int64_t>(array, row));
    case TypeId::utf8:
    case TypeId::large_utf8:
    case TypeId::utf8_view:
      return text_of(variable_value(array, value_layout(type), array.offset + row));
    case TypeId::binary:
    case TypeId::large_binary:
    case TypeId::binary_view:
      return bytes_of(variable_value(array, value_layout(type), array.offset + row));
    case TypeId::dictionary:
      return cell(*array.dictionary, *type.value, index_at(array, type.index, row));
    default: {
      auto const width = static_cast<std::size_t>(byte_width(type));
      auto const* const first =
          static_cast<char const*>(array.values) + static_cast<std::size_t>(array.offset + row) * width;
      return bytes_of({first, width});
    }
  }
}

}  // namespace garuda::python
