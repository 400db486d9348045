#include "operators/materialize/column_words.hpp"

#include <cstring>

#include "core/bitmap.hpp"
#include "core/type_rows.hpp"

namespace garuda::materialize {
namespace {

void read_bits(ArrayView const& array, std::int64_t first, std::int64_t rows, std::uint32_t words, std::byte* out) {
  auto const* const bits = static_cast<std::uint8_t const*>(array.values);
  auto const bytes = words * kWordBytes;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::uint32_t const bit = get_bit(bits, array.offset + first + i) ? 1 : 0;
    auto* const target = out + static_cast<std::size_t>(i) * bytes;
    std::memset(target, 0, bytes);
    std::memcpy(target, &bit, sizeof(bit));
  }
}

/// Values of `width` bytes, each followed by copies of its sign or zeros.
template <std::size_t kWidth>
void read_values(std::byte const* values, std::size_t width, std::size_t rows, std::size_t bytes, bool with_sign,
                 std::byte* out) {
  auto const taken = kWidth != 0 ? kWidth : width;
  for (std::size_t i = 0; i < rows; ++i) {
    auto const* const value = values + i * taken;
    bool const is_negative = with_sign && (std::to_integer<unsigned>(value[taken - 1]) & 0x80U) != 0;
    std::memcpy(out + i * bytes, value, taken);
    std::memset(out + i * bytes + taken, is_negative ? 0xff : 0, bytes - taken);
  }
}

Result<AlignedBuffer> values_of_words(std::uint32_t const* values, std::uint64_t rows, std::uint32_t words,
                                      DataType const& type) {
  if (type.id == TypeId::boolean) {
    auto const count = static_cast<std::int64_t>(rows);
    GARUDA_TRY_ASSIGN(auto bits, AlignedBuffer::allocate(bitmap_bytes(count)));
    write_bits(bits.as<std::uint8_t>(), count, [&](std::int64_t i) { return (values[i * words] & 1U) != 0; });
    return bits;
  }
  auto const width = static_cast<std::size_t>(byte_width(type));
  GARUDA_TRY_ASSIGN(auto result, AlignedBuffer::allocate(static_cast<std::int64_t>(rows * width)));
  auto const bytes = words * kWordBytes;
  if (width > bytes) {
    read_values<0>(reinterpret_cast<std::byte const*>(values), bytes, rows, width, continues_by_sign(type.id),
                   result.data());
    return result;
  }
  for (std::uint64_t i = 0; i < rows; ++i) std::memcpy(result.data() + i * width, values + i * words, width);
  return result;
}

}  // namespace

bool is_whole_words(DataType const& type) noexcept {
  auto const width = byte_width(type);
  return type.id != TypeId::boolean && type.id != TypeId::dictionary && width > 0 &&
         width % static_cast<std::int32_t>(kWordBytes) == 0;
}

void read_words(TableView table, std::size_t column, std::uint32_t words, std::uint64_t first, std::uint64_t rows,
                std::byte* out) {
  auto const& type = table.schema()[column].type;
  auto const bytes = words * kWordBytes;
  visit_parts(table, column, first, rows, [&](ArrayView const& array, std::int64_t from, std::int64_t count, auto row) {
    auto* const target = out + row * bytes;
    if (type.id == TypeId::boolean) return read_bits(array, from, count, words, target);
    auto const width = static_cast<std::size_t>(byte_width(type));
    auto const* const values =
        static_cast<std::byte const*>(array.values) + static_cast<std::size_t>(array.offset + from) * width;
    auto const taken = static_cast<std::size_t>(count);
    if (width == bytes) {
      std::memcpy(target, values, taken * bytes);
    } else if (width == 1) {
      read_values<1>(values, width, taken, bytes, continues_by_sign(type.id), target);
    } else if (width == 2) {
      read_values<2>(values, width, taken, bytes, continues_by_sign(type.id), target);
    } else if (width == 4) {
      read_values<4>(values, width, taken, bytes, continues_by_sign(type.id), target);
    } else {
      read_values<0>(values, width, taken, bytes, continues_by_sign(type.id), target);
    }
  });
}

std::optional<std::uint64_t> read_cut_decimals(TableView table, std::size_t column, std::uint64_t first,
                                               std::uint64_t rows, std::byte* out) {
  GARUDA_EXPECTS(table.schema()[column].type.id == TypeId::decimal128);
  constexpr std::size_t kHalfBytes = 8;
  constexpr int kSignShift = 63;
  std::optional<std::uint64_t> cut;
  visit_parts(table, column, first, rows, [&](ArrayView const& array, std::int64_t from, std::int64_t count, auto row) {
    auto const* value =
        static_cast<std::byte const*>(array.values) + static_cast<std::size_t>(array.offset + from) * 2 * kHalfBytes;
    for (std::int64_t i = 0; i < count; ++i, ++row, value += 2 * kHalfBytes) {
      std::int64_t low = 0;
      std::int64_t high = 0;
      std::memcpy(&low, value, kHalfBytes);
      std::memcpy(&high, value + kHalfBytes, kHalfBytes);
      std::memcpy(out + row * kHalfBytes, &low, kHalfBytes);
      if (high != low >> kSignShift && !cut && !array.is_null(from + i)) cut = first + row;
    }
  });
  return cut;
}

void read_null_words(TableView table, std::span<std::size_t const> columns, std::uint64_t first, std::uint64_t rows,
                     std::byte* out) {
  GARUDA_EXPECTS(columns.size() <= kNullBitsOfWord);
  std::memset(out, 0, rows * kWordBytes);
  for (std::size_t bit = 0; bit < columns.size(); ++bit)
    visit_parts(table, columns[bit], first, rows,
                [&](ArrayView const& array, std::int64_t from, std::int64_t count, std::uint64_t row) {
                  if (array.validity == nullptr) return;
                  for (std::int64_t i = 0; i < count; ++i) {
                    auto* const target = out + (row + static_cast<std::uint64_t>(i)) * kWordBytes;
                    std::uint32_t word = 0;
                    std::memcpy(&word, target, sizeof(word));
                    word |= array.is_null(from + i) ? 1U << bit : 0U;
                    std::memcpy(target, &word, sizeof(word));
                  }
                });
}

Result<ArrayView> array_of_words(ColumnWords const& column, std::uint64_t rows, DataType const& type,
                                 std::vector<AlignedBuffer>& made) {
  ArrayView array;
  array.length = static_cast<std::int64_t>(rows);
  array.values = column.values;
  if (!is_whole_words(type) || static_cast<std::uint64_t>(byte_width(type)) != column.words * kWordBytes) {
    GARUDA_TRY_ASSIGN(auto values, values_of_words(column.values, rows, column.words, type));
    array.values = made.emplace_back(std::move(values)).data();
  }
  GARUDA_TRY(set_nulls(column, rows, array, made));
  return array;
}

Result<void> set_nulls(ColumnWords const& column, std::uint64_t rows, ArrayView& array,
                       std::vector<AlignedBuffer>& made) {
  array.null_count = 0;
  if (column.nulls == nullptr || rows == 0) return {};
  GARUDA_TRY_ASSIGN(auto validity, AlignedBuffer::allocate(bitmap_bytes(array.length)));
  auto* const bits = made.emplace_back(std::move(validity)).as<std::uint8_t>();
  write_bits(bits, array.length, [&](std::int64_t i) { return (column.nulls[i] >> column.null_bit & 1U) == 0; });
  array.validity = bits;
  array.null_count = array.length - count_ones(array.validity, 0, array.length);
  return {};
}

}  // namespace garuda::materialize
