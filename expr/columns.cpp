#include "expr/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/load.hpp"
#include "core/numbers/half_float.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"
#include "expr/kernels/narrow_kernels.hpp"

namespace garuda::expr {
namespace {

template <class To, class From>
auto loader(std::byte const* values) {
  return [values](std::int64_t at) { return static_cast<To>(load<From>(values, at)); };
}

/// Calls body(value_at), where value_at(p) is the value at position `p` of the buffers of `array` as vectors have it.
/// `is_narrow`: decimals of 32 and 64 bits are int64.
template <class Body>
void with_values(ArrayView const& array, DataType const& type, bool is_narrow, Body const& body) {
  auto const* const values = static_cast<std::byte const*>(array.values);
  auto const& row = type_row(type.id);
  switch (row.family) {
    case TypeFamily::boolean:
      // The bits by value: a byte that is written might be the one that refers to them.
      return body([bits = static_cast<std::uint8_t const*>(array.values)](std::int64_t at) -> std::uint8_t {
        return get_bit(bits, at) ? 1 : 0;
      });
    case TypeFamily::floating:
      if (row.width == 2) return body([=](std::int64_t at) { return half_value(load<std::uint16_t>(values, at)); });
      return row.width == 4 ? body(loader<float, float>(values)) : body(loader<double, double>(values));
    case TypeFamily::decimal:
      if (is_narrow)
        return row.width == 8 ? body(loader<std::int64_t, std::int64_t>(values))
                              : body(loader<std::int64_t, std::int32_t>(values));
      if (row.width == 16) return body(loader<Int128, Int128>(values));
      return row.width == 8 ? body(loader<Int128, std::int64_t>(values)) : body(loader<Int128, std::int32_t>(values));
    case TypeFamily::bytes:
      if (type.id == TypeId::fixed_size_binary) return body([&](std::int64_t at) { return bytes_at(array, type, at); });
      if (is_view(type)) return body([&](std::int64_t at) { return variable_value<ValueLayout::views>(array, at); });
      if (has_large_offsets(type))
        return body([&](std::int64_t at) { return variable_value<ValueLayout::offsets64>(array, at); });
      return body([&](std::int64_t at) { return variable_value<ValueLayout::offsets32>(array, at); });
    default:
      return visit_integers(row.width, row.is_signed, [&]<class Stored>(Stored*) {
        using Word = std::conditional_t<std::is_signed_v<Stored>, std::int32_t, std::uint32_t>;
        body(loader<std::conditional_t<sizeof(Stored) < sizeof(Word), Word, Stored>, Stored>(values));
      });
  }
}

/// Copies integers that lie side by side to wider ones: a loop of its own, which compilers vectorise.
template <class To, class From>
void widen(std::byte const* from, std::size_t count, To* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = load<From>(from, static_cast<std::int64_t>(i));
}

/// Copies rows [row, row + count) of integers that are narrower than vectors have them, or of decimals of 32 bits as
/// int64; false: these are no such ones.
bool widen_rows(ArrayView const& array, DataType const& type, bool is_narrow, std::int64_t row, std::size_t count,
                void* to) {
  auto const& type_of = type_row(type.id);
  bool const is_small = type_of.family == TypeFamily::integer && type_of.width < 4;
  bool const is_decimal = is_narrow && type_of.width == 4;
  if (!is_small && !is_decimal) return false;
  auto const* const from = static_cast<std::byte const*>(array.values) + (array.offset + row) * type_of.width;
  if (is_decimal) {
    widen<std::int64_t, std::int32_t>(from, count, static_cast<std::int64_t*>(to));
    return true;
  }
  visit_integers(type_of.width, type_of.is_signed, [&]<class Stored>(Stored*) {
    using Word = std::conditional_t<std::is_signed_v<Stored>, std::int32_t, std::uint32_t>;
    if constexpr (sizeof(Stored) < sizeof(Word)) widen<Word, Stored>(from, count, static_cast<Word*>(to));
  });
  return true;
}

/// Whether columns of the type hold values as vectors do, side by side.
bool is_stored_as_kind(DataType const& type) {
  auto const& row = type_row(type.id);
  return row.family != TypeFamily::bytes && row.family != TypeFamily::boolean && row.width >= 4 &&
         (row.family != TypeFamily::decimal || row.width == 16);
}

std::size_t value_bytes(Kind kind) {
  return with_kind(kind, [](auto value) { return sizeof(value); });
}

}  // namespace

Result<ColumnReader> ColumnReader::create(TableView const& table, std::size_t column) {
  GARUDA_EXPECTS(column < table.num_columns());
  auto const& field = table.schema()[column];
  auto const kind = kind_of(field.type);
  if (!kind)
    return fail(ErrorCode::invalid_input,
                fmt::format("expressions do not compute with column '{}' of {}", field.name, to_string(field.type)));
  if (table.resident() != nullptr)
    return fail(ErrorCode::invalid_input, fmt::format("the host cannot read a column on a device: '{}'", field.name));
  return ColumnReader(table, column, value_type(field.type), *kind);
}

ColumnReader::ColumnReader(TableView const& table, std::size_t column, DataType type, Kind kind)
    : table_(table),
      column_(column),
      type_(std::move(type)),
      kind_(kind),
      first_rows_{0},
      values_(kVectorRows * value_bytes(kind) / sizeof(Int128)),
      valid_(kVectorRows) {
  for (std::size_t b = 0; b < table.num_batches(); ++b)
    first_rows_.push_back(first_rows_.back() + static_cast<std::uint64_t>(table.batch(b).num_rows));
  if (table.schema()[column].type.id == TypeId::dictionary) positions_.resize(kVectorRows);
}

/// The batch that holds a row: blocks are mostly read in their order.
std::size_t ColumnReader::batch_of(std::uint64_t row) {
  bool const is_near = first_rows_[batch_] <= row && row < first_rows_[batch_ + 1];
  if (!is_near) batch_ = static_cast<std::size_t>(std::ranges::upper_bound(first_rows_, row) - first_rows_.begin()) - 1;
  return batch_;
}

bool ColumnReader::is_as_vectors(ArrayView const& array) const noexcept {
  bool const is_side_by_side = is_narrow_ ? type_row(type_.id).width == 8 : is_stored_as_kind(type_);
  return positions_.empty() && is_side_by_side && reinterpret_cast<std::uintptr_t>(array.values) % vector_bytes() == 0;
}

/// Bytes of a value of the vectors that are read.
std::size_t ColumnReader::vector_bytes() const noexcept {
  return is_narrow_ ? sizeof(std::int64_t) : value_bytes(kind_);
}

void ColumnReader::allow_narrow() {
  if (kind_ != Kind::int128) return;
  is_narrow_ = type_row(type_.id).width <= 8;
  if (!is_narrow_) narrow_.resize(kVectorRows);
}

/// Makes a wide vector narrow, where its values are.
void ColumnReader::narrow(Vector& vector, std::size_t count) {
  if (narrow_.empty() || !narrow_kernels().narrow(vector.as<Int128>(), count, narrow_.data())) return;
  vector.values = narrow_.data();
  vector.is_narrow = true;
}

Vector ColumnReader::read(std::uint64_t begin, std::size_t count) {
  GARUDA_EXPECTS(count <= kVectorRows && begin + count <= first_rows_.back());
  Vector result{kind_, false, values_.data(), nullptr, is_narrow_};
  if (count == 0) return result;
  auto batch = batch_of(begin);
  auto row = begin - first_rows_[batch];
  auto const& first = table_.batch(batch).columns[column_];
  if (row + count <= static_cast<std::uint64_t>(first.length) && is_as_vectors(first)) {
    result.values =
        static_cast<std::byte const*>(first.values) + (first.offset + static_cast<std::int64_t>(row)) * vector_bytes();
    if (read_valid(first, static_cast<std::int64_t>(row), 0, count)) result.valid = valid_.data();
    narrow(result, count);
    return result;
  }
  for (std::size_t done = 0; done < count; ++batch, row = 0) {
    auto const& array = table_.batch(batch).columns[column_];
    auto const part = std::min(count - done, static_cast<std::size_t>(array.length) - static_cast<std::size_t>(row));
    if (part == 0) continue;
    bool const has_nulls = read_valid(array, static_cast<std::int64_t>(row), done, part);
    if (has_nulls && result.valid == nullptr) std::fill_n(valid_.begin(), done, std::uint8_t{1});
    if (has_nulls) result.valid = valid_.data();
    if (!has_nulls && result.valid != nullptr)
      std::fill_n(valid_.begin() + static_cast<std::ptrdiff_t>(done), part, std::uint8_t{1});
    auto* const to = reinterpret_cast<std::byte*>(values_.data()) + done * vector_bytes();
    if (!positions_.empty() || !widen_rows(array, type_, is_narrow_, static_cast<std::int64_t>(row), part, to))
      read_part(array, done, part, [row](std::size_t i) { return static_cast<std::int64_t>(row + i); });
    done += part;
  }
  narrow(result, count);
  return result;
}

Vector ColumnReader::read(std::uint64_t begin, std::span<std::uint16_t const> rows) {
  Vector result{kind_, false, values_.data(), nullptr, is_narrow_};
  if (rows.empty()) return result;
  auto const batch = batch_of(begin);
  auto const& array = table_.batch(batch).columns[column_];
  auto const row_at = [rows, row = begin - first_rows_[batch]](std::size_t i) {
    return static_cast<std::int64_t>(row + rows[i]);
  };
  GARUDA_EXPECTS(rows.size() <= kVectorRows && row_at(rows.size() - 1) < array.length);
  if (array.validity != nullptr && array.null_count != 0) {
    for (std::size_t i = 0; i < rows.size(); ++i) valid_[i] = get_bit(array.validity, array.offset + row_at(i)) ? 1 : 0;
    result.valid = valid_.data();
  }
  read_part(array, 0, rows.size(), row_at);
  narrow(result, rows.size());
  return result;
}

/// Sets bytes [first, first + count) of the block's validity; false, and nothing is set, where no row is null.
bool ColumnReader::read_valid(ArrayView const& array, std::int64_t row, std::size_t first, std::size_t count) {
  if (array.validity == nullptr || array.null_count == 0) return false;
  auto const begin = array.offset + row;
  auto const length = static_cast<std::int64_t>(count);
  if (count_ones(array.validity, begin, length) == length) return false;
  for (std::int64_t i = 0; i < length; ++i)
    valid_[first + static_cast<std::size_t>(i)] = get_bit(array.validity, begin + i) ? 1 : 0;
  return true;
}

/// Copies `count` values, that of row row_at(i) of an array to place `first` + i of the block.
template <class RowAt>
void ColumnReader::read_part(ArrayView const& array, std::size_t first, std::size_t count, RowAt const& row_at) {
  bool const has_dictionary = !positions_.empty();
  auto const& values = has_dictionary ? *array.dictionary : array;
  // By value, as `row_at` is: what is read by reference would be read again for every row.
  auto const at = [offset = array.offset, row_at](std::size_t i) { return offset + row_at(i); };
  // A null row has no value to read: its view, or its index, may be anything.
  auto const is_null = [&](std::size_t i) { return array.validity != nullptr && !get_bit(array.validity, at(i)); };
  bool const has_nulls = array.validity != nullptr && array.null_count != 0;
  if (has_dictionary && !has_nulls && table_.schema()[column_].type.index == TypeId::int32) {
    // The usual form of codes, without a loop of its own for positions.
    auto const* const indices = static_cast<std::byte const*>(array.values);
    with_values(values, type_, is_narrow_, [&]<class ValueAt>(ValueAt const& value_at) {
      auto* const to = reinterpret_cast<decltype(value_at(0))*>(values_.data()) + first;
      auto const value = [value_at, position = at, indices, offset = values.offset](std::size_t i) {
        return value_at(offset + static_cast<std::int64_t>(load<std::int32_t>(indices, position(i))));
      };
      for (std::size_t i = 0; i < count; ++i) to[i] = value(i);
    });
    return;
  }
  if (has_dictionary)
    visit_index_type(table_.schema()[column_].type.index, [&]<class Index>(Index*) {
      auto const* const indices = static_cast<std::byte const*>(array.values);
      for (std::size_t i = 0; i < count; ++i)
        positions_[i] = values.offset + static_cast<std::int64_t>(load<Index>(indices, at(i)));
    });
  with_values(values, type_, is_narrow_, [&]<class ValueAt>(ValueAt const& value_at) {
    using Value = decltype(value_at(0));
    auto* const to = reinterpret_cast<Value*>(values_.data()) + first;
    if (has_dictionary)
      for (std::size_t i = 0; i < count; ++i) to[i] = is_null(i) ? Value{} : value_at(positions_[i]);
    else if (std::is_same_v<Value, std::string_view> && array.validity != nullptr)
      for (std::size_t i = 0; i < count; ++i) to[i] = is_null(i) ? Value{} : value_at(at(i));
    else
      for (std::size_t i = 0; i < count; ++i) to[i] = value_at(at(i));
  });
}

namespace {

/// Buffers that a written column refers to.
struct ColumnBuffers {
  KeptVector<std::uint8_t> validity;
  UnsetVector<std::byte> values;
  UnsetVector<std::byte> slots;
  ViewedBytes viewed;

  ColumnBuffers(KeptVector<std::uint8_t> valid, UnsetVector<std::byte> bytes, UnsetVector<std::byte> places)
      : validity(std::move(valid)),
        values(std::move(bytes)),
        slots(std::move(places)),
        viewed(values.data(), static_cast<std::int64_t>(values.size())) {}
};

/// Memory for `count` more values of a vector that grows by halves at least.
template <class T>
T* grown(UnsetVector<std::byte>& bytes, std::size_t count) {
  auto const old = bytes.size();
  auto const size = old + count * sizeof(T);
  if (size > bytes.capacity()) bytes.reserve(std::max(size, bytes.capacity() + bytes.capacity() / 2));
  bytes.resize(size);
  return reinterpret_cast<T*>(bytes.data() + old);
}

/// Sets bits [first, first + count) of a bitmap that grows, to bit_of(i).
template <class Bitmap, class BitOf>
void append_bits(Bitmap& bitmap, std::int64_t first, std::size_t count, BitOf const& bit_of) {
  using Byte = typename Bitmap::value_type;
  auto const old = bitmap.size();
  auto const size = static_cast<std::size_t>(bitmap_bytes(first + static_cast<std::int64_t>(count)));
  if (size > bitmap.capacity()) bitmap.reserve(std::max(size, bitmap.capacity() + bitmap.capacity() / 2));
  bitmap.resize(size);
  std::fill(bitmap.begin() + static_cast<std::ptrdiff_t>(std::min(old, size)), bitmap.end(), Byte{});
  for (std::size_t i = 0; i < count; ++i) {
    auto const at = static_cast<std::size_t>(first) + i;
    bitmap[at / 8] |= static_cast<Byte>((bit_of(i) ? 1U : 0U) << (at % 8));
  }
}

}  // namespace

ColumnWriter::ColumnWriter(DataType type) : type_(std::move(type)), kind_(kind_of(type_).value_or(Kind::boolean)) {
  GARUDA_EXPECTS(kind_of(type_) && type_.id != TypeId::dictionary);
}

void ColumnWriter::reserve(std::size_t rows) {
  auto const width = static_cast<std::size_t>(byte_width(type_));
  if (kind_ != Kind::bytes || type_.id == TypeId::fixed_size_binary) values_.reserve(values_.size() + rows * width);
  if (is_view(type_)) slots_.reserve(slots_.size() + rows * sizeof(ValueView));
}

void* ColumnWriter::room(std::size_t count) {
  if (!is_stored_as_kind(type_)) return nullptr;
  auto const old = values_.size();
  grown<std::byte>(values_, count * value_bytes(kind_));
  values_.resize(old);
  return values_.data() + old;
}

Result<void> ColumnWriter::append(Vector const& vector, std::size_t count) {
  bool const is_copy = is_stored_as_kind(type_) && !vector.is_constant && !vector.is_narrow;
  if (!is_copy) return append_rows(vector, count, [](std::size_t i) { return i; });
  append_valid(vector, count, [](std::size_t i) { return i; });
  auto const width = value_bytes(kind_);
  auto* const to = grown<std::byte>(values_, count * width);
  if (count > 0 && vector.values != to) std::memcpy(to, vector.values, count * width);
  length_ += static_cast<std::int64_t>(count);
  return {};
}

Result<void> ColumnWriter::append(Vector const& vector, std::span<std::uint16_t const> rows) {
  return append_rows(vector, rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
}

template <class Row>
Result<void> ColumnWriter::append_rows(Vector const& vector, std::size_t count, Row const& row) {
  GARUDA_EXPECTS(vector.kind == kind_);
  auto const place = [&](std::size_t i) { return vector.is_constant ? 0 : row(i); };
  if (kind_ == Kind::bytes) GARUDA_TRY(append_bytes(vector, count, place));
  append_valid(vector, count, place);
  if (kind_ != Kind::bytes) append_values(vector, count, place);
  length_ += static_cast<std::int64_t>(count);
  return {};
}

template <class Row>
void ColumnWriter::append_valid(Vector const& vector, std::size_t count, Row const& row) {
  auto const* const valid = vector.valid;
  if (valid == nullptr && validity_.empty()) return;
  if (validity_.empty()) append_bits(validity_, 0, static_cast<std::size_t>(length_), [](std::size_t) { return true; });
  append_bits(validity_, length_, count, [&](std::size_t i) {
    bool const has_value = valid == nullptr || valid[row(i)] != 0;
    nulls_ += has_value ? 0 : 1;
    return has_value;
  });
}

/// Appends strings or binary, of nulls no bytes.
template <class Row>
Result<void> ColumnWriter::append_bytes(Vector const& vector, std::size_t count, Row const& row) {
  auto const value_of = [&](std::size_t i) {
    auto const at = row(i);
    bool const has_value = vector.valid == nullptr || vector.valid[at] != 0;
    return has_value ? vector.as<std::string_view>()[at] : std::string_view();
  };
  auto const width = static_cast<std::size_t>(type_.fixed_byte_width);
  bool const is_fixed = type_.id == TypeId::fixed_size_binary;
  bool const are_views = is_view(type_);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const size = value_of(i).size();
    bytes += is_fixed ? width : are_views && size <= kInlineViewBytes ? 0 : size;
  }
  auto at = values_.size();
  bool const is_limited = !is_fixed && !has_large_offsets(type_);
  if (is_limited && at + bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    return fail(ErrorCode::limit_exceeded,
                fmt::format("a batch of {} holds at most 2^31 - 1 bytes, not {}", to_string(type_), at + bytes));
  auto* to = reinterpret_cast<char*>(grown<std::byte>(values_, bytes));
  auto const put = [&](std::string_view value) {
    if (!value.empty()) std::memcpy(to, value.data(), value.size());
    to += is_fixed ? width : value.size();
    at += value.size();
  };
  if (is_fixed) {
    for (std::size_t i = 0; i < count; ++i) put(value_of(i).substr(0, width));
  } else if (are_views) {
    auto* const views = grown<ValueView>(slots_, count);
    for (std::size_t i = 0; i < count; ++i) {
      auto const value = value_of(i);
      views[i] = make_view(value, static_cast<std::int32_t>(at));
      if (value.size() > kInlineViewBytes) put(value);
    }
  } else {
    auto const put_all = [&]<class Offset>(Offset) {
      if (slots_.empty()) *grown<Offset>(slots_, 1) = 0;
      auto* const ends = grown<Offset>(slots_, count);
      for (std::size_t i = 0; i < count; ++i) {
        put(value_of(i));
        ends[i] = static_cast<Offset>(at);
      }
    };
    has_large_offsets(type_) ? put_all(std::int64_t{}) : put_all(std::int32_t{});
  }
  return {};
}

template <class Row>
void ColumnWriter::append_values(Vector const& vector, std::size_t count, Row const& row) {
  auto const& stored_as = type_row(type_.id);
  auto const put = [&]<class Stored>(Stored, auto const& value_of) {
    auto* const to = grown<Stored>(values_, count);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Stored>(value_of(row(i)));
  };
  with_kind(kind_, [&]<class Value>(Value) {
    auto const* const from = vector.as<Value>();
    auto const value_of = [&](std::size_t i) { return from[i]; };
    if constexpr (std::is_same_v<Value, std::string_view>) {
      return;
    } else if constexpr (std::is_same_v<Value, std::uint8_t>) {
      append_bits(values_, length_, count, [&](std::size_t i) { return from[row(i)] != 0; });
    } else if constexpr (std::is_same_v<Value, Int128>) {
      auto const put_as = [&](auto const& stored_value) {
        stored_as.width == 4   ? put(std::int32_t{}, stored_value)
        : stored_as.width == 8 ? put(std::int64_t{}, stored_value)
                               : put(Int128{}, stored_value);
      };
      if (vector.is_narrow)
        put_as([narrow = vector.as<std::int64_t>()](std::size_t i) { return narrow[i]; });
      else
        put_as(value_of);
    } else if constexpr (std::is_same_v<Value, float>) {
      stored_as.width == 2 ? put(std::uint16_t{}, [&](std::size_t i) { return half_bits(from[i]); })
                           : put(float{}, value_of);
    } else {
      stored_as.width == 1   ? put(std::uint8_t{}, value_of)
      : stored_as.width == 2 ? put(std::uint16_t{}, value_of)
                             : put(Value{}, value_of);
    }
  });
}

WrittenColumn ColumnWriter::finish() {
  bool const has_offsets = is_variable_width(type_);
  if (has_offsets && slots_.empty()) grown<std::byte>(slots_, has_large_offsets(type_) ? 8 : 4);
  auto const buffers = std::make_shared<ColumnBuffers>(std::move(validity_), std::move(values_), std::move(slots_));
  ArrayView array;
  array.length = std::exchange(length_, 0);
  array.null_count = std::exchange(nulls_, 0);
  array.validity = buffers->validity.empty() ? nullptr : buffers->validity.data();
  array.values = is_view(type_) ? buffers->slots.data() : buffers->values.data();
  if (has_offsets) array.offsets = buffers->slots.data();
  if (is_view(type_)) array.offsets = &buffers->viewed.list;
  validity_ = {};
  values_ = {};
  slots_ = {};
  return {array, buffers};
}

}  // namespace garuda::expr
