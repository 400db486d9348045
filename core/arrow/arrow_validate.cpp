#include "core/arrow/arrow_validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/look_ahead.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/nested/nested_validate.hpp"
#include "core/variable_value.hpp"

namespace garuda {
namespace {

/// No address space holds a bitmap of more rows: 2^56 bytes are the largest user space there is (x86-64, 5 levels).
constexpr std::int64_t kMaxRows = std::int64_t{1} << 59;

/// The offsets of a variable-width column without rows, for 32 and 64 bits alike.
constexpr std::array<std::int64_t, 1> kNoRowsOffsets{0};

constexpr ViewBuffers kNoViewBuffers{};

/// Views have as many as they like between the views themselves and the sizes of these.
std::int64_t num_buffers_of(ArrowArray const& array, DataType const& type) {
  return is_view(type) ? std::max<std::int64_t>(array.n_buffers, 3) : is_variable_width(type) ? 3 : 2;
}

/// Alignment that typed access to the values needs. 16-byte types are read as two words by every producer and consumer
/// that aligns to 8 bytes, as Arrow's own allocation rule allows.
std::size_t alignment_of(DataType const& type) {
  if (type.id == TypeId::fixed_size_binary || type.id == TypeId::boolean) return 1;
  return static_cast<std::size_t>(std::clamp(byte_width(type), 1, 8));
}

/// Returns `buffer`, or a copy of its bytes [begin, end) at the same distance from the start, when it is not aligned.
Result<void const*> aligned(void const* buffer, std::int64_t begin, std::int64_t end, std::size_t alignment,
                            ImportStorage& storage) {
  if (reinterpret_cast<std::uintptr_t>(buffer) % alignment == 0) return buffer;
  GARUDA_TRY_ASSIGN(auto copy, AlignedBuffer::allocate(end));
  std::memcpy(copy.data() + begin, static_cast<std::byte const*>(buffer) + begin,
              static_cast<std::size_t>(end - begin));
  storage.realigned.push_back(std::move(copy));
  return static_cast<void const*>(storage.realigned.back().data());
}

/// Sets the values of a type with `width` bytes a value.
Result<void> view_fixed_width(ArrowArray const& array, std::int64_t width, std::size_t alignment, ArrayView& view,
                              ImportStorage& storage) {
  auto const end = view.offset + view.length;
  if (end > std::numeric_limits<std::int64_t>::max() / width) {
    return invalid_array(fmt::format("more values than an address space holds: {}", end));
  }
  if (array.buffers[1] == nullptr) return invalid_array(fmt::format("values buffer is null, rows: {}", view.length));
  GARUDA_TRY_ASSIGN(view.values, aligned(array.buffers[1], view.offset * width, end * width, alignment, storage));
  return {};
}

template <class Offset>
Result<void> check_offsets_of(ArrayView const& view) {
  auto const* const data = view.values;
  auto const* offsets = static_cast<Offset const*>(view.offsets) + view.offset;
  if (offsets[0] < 0) return invalid_array(fmt::format("first offset is negative: {}", offsets[0]));
  Offset decreases = 0;
  for_ranges_ahead(offsets, sizeof(Offset), static_cast<std::size_t>(view.length),
                   [&](std::size_t begin, std::size_t end) {
                     for (auto i = begin; i < end; ++i) decreases |= offsets[i + 1] < offsets[i] ? 1 : 0;
                   });
  if (decreases != 0) {
    auto const* at = std::is_sorted_until(offsets, offsets + view.length + 1);
    return invalid_array(fmt::format("offsets decrease at row {}: {} after {}", at - offsets - 1, *at, *(at - 1)));
  }
  if (data == nullptr && offsets[view.length] > offsets[0]) {
    return invalid_array(fmt::format("data buffer is null, bytes referred to: {}", offsets[view.length] - offsets[0]));
  }
  return {};
}

/// Sets offsets and values of a variable-width type.
Result<void> view_variable_width(ArrowArray const& array, DataType const& type, ArrayView& view, ImportStorage& storage,
                                 Offsets offsets) {
  auto const width = static_cast<std::int64_t>(has_large_offsets(type) ? sizeof(std::int64_t) : sizeof(std::int32_t));
  if (array.buffers[1] == nullptr) return invalid_array(fmt::format("offsets buffer is null, rows: {}", view.length));
  GARUDA_TRY_ASSIGN(view.offsets,
                    aligned(array.buffers[1], view.offset * width, (view.offset + view.length + 1) * width,
                            static_cast<std::size_t>(width), storage));
  view.values = array.buffers[2];
  return offsets == Offsets::deferred ? Result<void>{} : check_offsets(view, type);
}

Result<void> check_views(ArrayView const& view, ViewBuffers const& data) {
  auto const* const views = static_cast<ValueView const*>(view.values) + view.offset;
  for (std::int64_t i = 0; i < view.length; ++i) {
    auto const& value = views[i];
    if (view.is_null(i) || (value.length >= 0 && value.length <= kInlineViewBytes)) continue;
    if (value.length < 0) return invalid_array(fmt::format("length is negative at row {}: {}", i, value.length));
    if (value.buffer() < 0 || value.buffer() >= data.count)
      return invalid_array(
          fmt::format("data buffer out of range [0, {}) at row {}: {}", data.count, i, value.buffer()));
    auto const end = std::int64_t{value.offset()} + value.length;
    if (value.offset() < 0 || end > data.bytes[value.buffer()] || data.buffers[value.buffer()] == nullptr)
      return invalid_array(fmt::format("bytes beyond their data buffer at row {}: {}", i, end));
  }
  return {};
}

/// Sets the views and what they refer to.
Result<void> view_views(ArrowArray const& array, DataType const& type, ArrayView& view, ImportStorage& storage,
                        Offsets offsets) {
  GARUDA_TRY(view_fixed_width(array, sizeof(ValueView), alignof(ValueView), view, storage));
  ViewBuffers data{array.n_buffers - 3, array.buffers + 2, nullptr};
  data.bytes = static_cast<std::int64_t const*>(array.buffers[array.n_buffers - 1]);
  if (data.count > 0 && data.bytes == nullptr)
    return invalid_array(fmt::format("sizes of the data buffers are missing: {}", data.count));
  storage.view_buffers.push_back(data);
  view.offsets = &storage.view_buffers.back();
  return offsets == Offsets::deferred ? Result<void>{} : check_offsets(view, type);
}

/// Whether all of `count` indices lie in [0, size), without a branch a row.
template <class Index>
bool are_below(Index const* indices, std::int64_t count, std::int64_t size) {
  using Word = std::make_unsigned_t<Index>;
  if (size == 0) return count == 0;
  constexpr auto kMost = std::numeric_limits<Index>::max();
  auto const most = static_cast<Word>(std::cmp_less(size - 1, kMost) ? static_cast<Index>(size - 1) : kMost);
  Word beyond = 0;
  for_ranges_ahead(indices, sizeof(Index), static_cast<std::size_t>(count), [&](std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) beyond |= static_cast<Word>(indices[i]) > most ? 1 : 0;
  });
  return beyond == 0;
}

template <class Index>
Result<void> check_indices(ArrayView const& view) {
  auto const* indices = view.data<Index>();
  auto const size = view.dictionary->length;
  if (are_below(indices, view.length, size)) return {};
  for (std::int64_t i = 0; i < view.length; ++i) {
    if (std::cmp_greater_equal(indices[i], 0) && std::cmp_less(indices[i], size)) continue;
    if (view.is_null(i)) continue;
    return invalid_array(fmt::format("dictionary index out of range [0, {}) at row {}: {}", size, i, indices[i]));
  }
  return {};
}

/// Makes the rows whose index is that of a null value null themselves, so that validity alone tells what is null.
template <class Index>
Result<void> add_nulls_of_values(ArrayView& view, ImportStorage& storage) {
  if (view.dictionary->null_count == 0) return {};
  // Counted from the window's first row: a bitmap as long as the producer's array, for each window, could be large.
  auto const* const indices = view.data<Index>();
  GARUDA_TRY_ASSIGN(auto validity, AlignedBuffer::allocate(bitmap_bytes(view.length)));
  auto* const bits = validity.as<std::uint8_t>();
  std::memset(bits, 0, static_cast<std::size_t>(validity.size_bytes()));
  std::int64_t valid = 0;
  for (std::int64_t i = 0; i < view.length; ++i) {
    if (view.is_null(i) || view.dictionary->is_null(static_cast<std::int64_t>(indices[i]))) continue;
    bits[i >> 3] = static_cast<std::uint8_t>(bits[i >> 3] | 1 << (i & 7));
    ++valid;
  }
  if (view.length - valid == view.null_count) return {};
  view.values = indices;
  view.offset = 0;
  view.validity = bits;
  view.null_count = view.length - valid;
  storage.validities.push_back(std::move(validity));
  return {};
}

Result<void> view_indices(TypeId index, ArrayView& view, ImportStorage& storage) {
  return visit_index_type(index, [&]<class Index>(Index*) -> Result<void> {
    GARUDA_TRY(check_indices<Index>(view));
    return add_nulls_of_values<Index>(view, storage);
  });
}

/// Views `array`, the dictionary of another one, unless it is the one that `known` was made of.
Result<ArrayView> view_values(ArrowArray const& array, DataType const& type, ImportStorage& storage,
                              std::optional<KnownDictionary>& known) {
  std::optional<KnownDictionary> none;
  if (is_view(type)) return view_array(array, type, {0, array.length}, storage, none);
  GARUDA_TRY(check_shape(array, num_buffers_of(array, type), 0));
  KnownDictionary dictionary{array.length, array.offset, array.null_count, {}, {}};
  std::copy_n(array.buffers, array.n_buffers, dictionary.buffers.begin());
  if (known && known->is_same_memory(dictionary)) return known->view;
  auto const copies = storage.realigned.size();
  GARUDA_TRY_ASSIGN(dictionary.view, view_array(array, type, {0, array.length}, storage, none));
  // A view of copies must not outlive `storage`.
  known.reset();
  if (copies == storage.realigned.size()) known = dictionary;
  return dictionary.view;
}

Result<ArrayView const*> view_dictionary(ArrowArray const& array, DataType const& type, ImportStorage& storage,
                                         std::optional<KnownDictionary>& known) {
  if (array.dictionary == nullptr) return invalid_array("dictionary is missing");
  auto view = view_values(*array.dictionary, *type.value, storage, known);
  if (!view) return tl::unexpected(std::move(view).error().wrap("invalid dictionary"));
  storage.dictionaries.push_back(*view);
  return &storage.dictionaries.back();
}

/// Sets the buffers of a view that has rows.
Result<void> view_buffers(ArrowArray const& array, DataType const& type, ArrayView& view, ImportStorage& storage,
                          Offsets offsets) {
  if (is_variable_width(type)) return view_variable_width(array, type, view, storage, offsets);
  if (is_view(type)) return view_views(array, type, view, storage, offsets);
  if (type.id == TypeId::boolean) {
    if (array.buffers[1] == nullptr) return invalid_array(fmt::format("values buffer is null, rows: {}", view.length));
    view.values = array.buffers[1];
    return {};
  }
  GARUDA_TRY(view_fixed_width(array, byte_width(type), alignment_of(type), view, storage));
  return type.id == TypeId::dictionary ? view_indices(type.index, view, storage) : Result<void>{};
}

}  // namespace

Result<void> check_offsets(ArrayView const& column, DataType const& type) {
  if (column.length == 0) return {};
  if (is_view(type)) return check_views(column, *static_cast<ViewBuffers const*>(column.offsets));
  if (!is_variable_width(type)) return {};
  return has_large_offsets(type) ? check_offsets_of<std::int64_t>(column) : check_offsets_of<std::int32_t>(column);
}

Result<void> check_shape(ArrowArray const& array, std::int64_t num_buffers, std::int64_t num_children) {
  if (array.release == nullptr) return invalid_array("array is released");
  if (array.length < 0) return invalid_array(fmt::format("length is negative: {}", array.length));
  if (array.offset < 0) return invalid_array(fmt::format("offset is negative: {}", array.offset));
  if (array.length > kMaxRows || array.offset > kMaxRows - array.length) {
    return invalid_array(
        fmt::format("more rows than an address space holds: {} behind offset {}", array.length, array.offset));
  }
  if (array.null_count < -1 || array.null_count > array.length) {
    return invalid_array(fmt::format("null count out of range [-1, {}]: {}", array.length, array.null_count));
  }
  if (array.n_buffers != num_buffers) {
    return invalid_array(fmt::format("number of buffers is not {}: {}", num_buffers, array.n_buffers));
  }
  if (array.n_children != num_children) {
    return invalid_array(fmt::format("number of children is not {}: {}", num_children, array.n_children));
  }
  if (num_buffers > 0 && array.buffers == nullptr) return invalid_array("list of buffers is null");
  if (num_children > 0 && array.children == nullptr) return invalid_array("list of children is null");
  return {};
}

Result<std::int64_t> check_validity(ArrowArray const& array, RowWindow window) {
  auto const* validity = static_cast<std::uint8_t const*>(array.buffers[0]);
  if (validity == nullptr) {
    if (array.null_count > 0) {
      return invalid_array(fmt::format("validity bitmap is missing, null count: {}", array.null_count));
    }
    return 0;
  }
  auto const nulls = window.length - count_ones(validity, array.offset + window.first, window.length);
  auto const whole = window.length == array.length;
  if (array.null_count >= 0 && (whole ? nulls != array.null_count : nulls > array.null_count)) {
    return invalid_array(
        fmt::format("null count contradicts the {} nulls of the validity bitmap: {}", nulls, array.null_count));
  }
  return nulls;
}

namespace {

/// A column that is not looked at: the array as it is.
Result<ArrayView> view_nested(ArrowArray const& array, NestedType const& type, RowWindow window,
                              ImportStorage& storage) {
  GARUDA_TRY(validate_nested(array, type, window, storage));
  GARUDA_TRY_ASSIGN(auto const node, parse_node(type));
  ArrayView view;
  view.length = window.length;
  view.offset = array.offset + window.first;
  view.values = &array;
  view.null_count = 0;
  if (!node.has_validity()) return view;
  GARUDA_TRY_ASSIGN(view.null_count, check_validity(array, window));
  if (view.null_count > 0) view.validity = static_cast<std::uint8_t const*>(array.buffers[0]);
  return view;
}

}  // namespace

Result<ArrayView> view_array(ArrowArray const& array, DataType const& type, RowWindow window, ImportStorage& storage,
                             std::optional<KnownDictionary>& known, Offsets offsets) {
  if (type.id == TypeId::nested) return view_nested(array, *type.nested, window, storage);
  GARUDA_TRY(check_shape(array, num_buffers_of(array, type), 0));
  if (window.first > array.length || window.length > array.length - window.first) {
    return invalid_array(
        fmt::format("fewer rows than the {} of its parent: {}", window.first + window.length, array.length));
  }
  ArrayView view;
  if (type.id == TypeId::dictionary) {
    GARUDA_TRY_ASSIGN(view.dictionary, view_dictionary(array, type, storage, known));
  } else if (array.dictionary != nullptr) {
    return invalid_array(fmt::format("dictionary is present, but the type is {}", to_string(type)));
  }
  GARUDA_TRY_ASSIGN(view.null_count, check_validity(array, window));
  if (window.length == 0) {
    if (is_variable_width(type)) view.offsets = kNoRowsOffsets.data();
    if (is_view(type)) view.offsets = &kNoViewBuffers;
    return view;
  }
  view.length = window.length;
  view.offset = array.offset + window.first;
  if (view.null_count > 0) view.validity = static_cast<std::uint8_t const*>(array.buffers[0]);
  GARUDA_TRY(view_buffers(array, type, view, storage, offsets));
  return view;
}

}  // namespace garuda
