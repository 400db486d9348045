#include "io/parquet/flat_strings.hpp"

#include <arrow/array/builder_binary.h>
#include <arrow/array/validate.h>
#include <arrow/util/binary_view_util.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/buffer.hpp"
#include "io/parquet/packed_codes.hpp"

namespace garuda::io {
namespace {

using View = arrow::BinaryViewType::c_type;

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

/// Whether all bytes are below 0x80, those of lengths, too: then there is nothing but ASCII.
bool is_ascii(std::span<std::uint8_t const> bytes) {
  std::uint8_t all = 0;
  for (auto const byte : bytes) all |= byte;
  return all < 0x80;
}

bool is_utf8(PageValues const& page) {
  if (is_ascii(page.bytes)) return true;
  arrow::util::InitializeUTF8();
  bool is_valid = true;
  bool const is_whole = for_strings(page, [&](std::string_view string) {
    is_valid &= arrow::util::ValidateUTF8(reinterpret_cast<std::uint8_t const*>(string.data()),
                                          static_cast<std::int64_t>(string.size()));
  });
  return is_whole && is_valid;
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

/// The bytes of a page, for as long as they are wanted.
std::shared_ptr<arrow::Buffer> kept_bytes(PageValues const& page) {
  auto const size = static_cast<std::int64_t>(page.bytes.size());
  if (page.kept != nullptr) return arrow::SliceBuffer(page.kept, page.bytes.data() - page.kept->data(), size);
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> copy, arrow::AllocateBuffer(size, memory_pool()));
  std::ranges::copy(page.bytes, copy->mutable_data());
  return copy;
}

/// Views of the pages of a column.
class PageViews {
 public:
  PageViews(View* out, bool is_text) : next_(out), is_text_(is_text) {}

  bool set_dictionary(PageValues const& page) {
    if (!has_room(page)) return false;
    dictionary_.resize(static_cast<std::size_t>(page.count));
    return view(page, dictionary_.data());
  }

  /// A column chunk has a dictionary of its own.
  void end_chunk() { dictionary_.clear(); }

  bool add(PageValues const& page) {
    auto* const first = std::exchange(next_, next_ + page.count);
    if (is_of_dictionary(page.encoding)) return CodedValues<View>(dictionary_, first).decode(page.bytes, page.count);
    return page.encoding == parquet::Encoding::PLAIN && view(page, first);
  }

  arrow::BufferVector const& buffers() const { return buffers_; }

 private:
  bool view(PageValues const& page, View* out) {
    auto const number = static_cast<std::int32_t>(buffers_.size());
    buffers_.push_back(kept_bytes(page));
    auto const* const begin = page.bytes.data();
    bool const is_whole = for_strings(page, [&](std::string_view string) {
      auto const offset = reinterpret_cast<std::uint8_t const*>(string.data()) - begin;
      *out++ = arrow::util::ToBinaryView(string, number, static_cast<std::int32_t>(offset));
    });
    return is_whole && (!is_text_ || is_utf8(page));
  }

  View* next_;
  bool is_text_;
  UnsetVector<View> dictionary_;
  arrow::BufferVector buffers_;
};

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

arrow::Result<std::shared_ptr<arrow::Array>> read_views(ColumnSource source, std::vector<int> const& row_groups,
                                                        int leaf, std::shared_ptr<arrow::DataType> const& type) {
  std::int64_t rows = 0;
  for (int const row_group : row_groups) rows += source.file.metadata()->RowGroup(row_group)->num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> views,
                        arrow::AllocateBuffer(rows * std::int64_t{sizeof(View)}, memory_pool()));
  PageViews pages(reinterpret_cast<View*>(views->mutable_data()), type->id() == arrow::Type::STRING_VIEW);
  auto const set_dictionary = [&](PageValues const& page) { return pages.set_dictionary(page); };
  auto const add = [&](PageValues const& page) { return pages.add(page); };
  for (int const row_group : row_groups) {
    if (!for_pages(source, row_group, leaf, set_dictionary, add)) return nullptr;
    pages.end_chunk();
  }
  arrow::BufferVector buffers{nullptr, std::move(views)};
  buffers.insert(buffers.end(), pages.buffers().begin(), pages.buffers().end());
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, std::move(buffers), 0));
}

}  // namespace garuda::io
