#include "io/parquet/flat_strings.hpp"

#include <arrow/array/builder_binary.h>
#include <arrow/array/validate.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "io/parquet/packed_codes.hpp"

namespace garuda::io {
namespace {

/// Calls take(string) with the strings of a page, each behind its length. False: the page has fewer.
template <class Take>
bool for_strings(PageValues const& page, Take const& take) {
  auto bytes = page.bytes;
  for (std::int32_t i = 0; i < page.count; ++i) {
    std::uint32_t length = 0;
    if (bytes.size() < sizeof(length)) return false;
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes = bytes.subspan(sizeof(length));
    if (length > bytes.size()) return false;
    take(std::string_view(reinterpret_cast<char const*>(bytes.data()), length));
    bytes = bytes.subspan(length);
  }
  return true;
}

/// A page has at most as many strings as lengths fit it, whatever it says.
bool has_room(PageValues const& page) {
  return static_cast<std::size_t>(page.count) <= page.bytes.size() / sizeof(std::uint32_t);
}

/// The values of a dictionary as an array; nullptr: the page has fewer.
arrow::Result<std::shared_ptr<arrow::Array>> values_in(PageValues const& page,
                                                       std::shared_ptr<arrow::DataType> const& type) {
  if (!has_room(page)) return nullptr;
  arrow::BinaryBuilder builder(memory_pool());
  ARROW_RETURN_NOT_OK(builder.Reserve(page.count));
  ARROW_RETURN_NOT_OK(builder.ReserveData(static_cast<std::int64_t>(page.bytes.size())));
  if (!for_strings(page, [&](std::string_view string) { builder.UnsafeAppend(string); })) return nullptr;
  ARROW_ASSIGN_OR_RAISE(auto const built, builder.Finish());
  ARROW_ASSIGN_OR_RAISE(auto values, built->View(type));
  ARROW_RETURN_NOT_OK(arrow::internal::ValidateArrayFull(*values->data()));
  return values;
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Array>> read_codes(ColumnSource source, int row_group, int leaf,
                                                        std::shared_ptr<arrow::DataType> const& type) {
  auto const& value_type = static_cast<arrow::DictionaryType const&>(*type).value_type();
  auto const rows = source.file.metadata()->RowGroup(row_group)->num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> codes,
                        arrow::AllocateBuffer(rows * std::int64_t{sizeof(std::int32_t)}, memory_pool()));
  auto* next = reinterpret_cast<std::int32_t*>(codes->mutable_data());
  arrow::Result<std::shared_ptr<arrow::Array>> values = arrow::MakeEmptyArray(value_type, memory_pool());
  std::vector<std::int32_t> numbers;
  auto const set_dictionary = [&](PageValues const& page) {
    values = values_in(page, value_type);
    if (!values.ok() || *values == nullptr) return false;
    numbers.resize(static_cast<std::size_t>(page.count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return true;
  };
  auto const add = [&](PageValues const& page) {
    auto* const first = std::exchange(next, next + page.count);
    return is_of_dictionary(page.encoding) && CodedValues<std::int32_t>(numbers, first).decode(page.bytes, page.count);
  };
  bool const is_read = for_pages(source, row_group, leaf, set_dictionary, add);
  ARROW_ASSIGN_OR_RAISE(auto const dictionary, std::move(values));
  if (!is_read) return nullptr;
  auto data = arrow::ArrayData::Make(type, rows, {nullptr, std::move(codes)}, 0);
  data->dictionary = dictionary->data();
  return arrow::MakeArray(data);
}

}  // namespace garuda::io
