#include "python/extension/cells.hpp"

#include <string_view>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/load.hpp"
#include "core/type_rows.hpp"
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

nb::object integer_at(ArrayView const& array, TypeRow const& type, std::int64_t row) {
  return visit_integers(type.width, type.is_signed,
                        [&]<class T>(T*) -> nb::object { return nb::int_(value_at<T>(array, row)); });
}

}  // namespace

nb::object cell(ArrayView const& array, DataType const& type, std::int64_t row) {
  if (type.id == TypeId::nested) return nb::borrow(Py_Ellipsis);
  if (array.is_null(row)) return nb::none();
  auto const& type_of = type_row(type.id);
  switch (type_of.family) {
    case TypeFamily::boolean:
      return nb::bool_(get_bit(static_cast<std::uint8_t const*>(array.values), array.offset + row));
    case TypeFamily::floating:
      if (type_of.width == 4) return nb::float_(static_cast<double>(value_at<float>(array, row)));
      if (type_of.width == 8) return nb::float_(value_at<double>(array, row));
      break;
    case TypeFamily::integer:
    case TypeFamily::temporal:
      return integer_at(array, type_of, row);
    case TypeFamily::interval:
      if (type_of.is_signed) return integer_at(array, type_of, row);
      break;
    case TypeFamily::dictionary: {
      auto const index =
          visit_index_type(type.index, [&]<class T>(T*) { return static_cast<std::int64_t>(value_at<T>(array, row)); });
      return cell(*array.dictionary, *type.value, index);
    }
    default:
      break;
  }
  auto const bytes = bytes_at(array, type, array.offset + row);
  return is_text(type.id) ? text_of(bytes) : bytes_of(bytes);
}

}  // namespace garuda::python
