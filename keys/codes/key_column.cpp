#include "keys/codes/key_column.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/load.hpp"
#include "core/numbers/half_float.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/parallel_blocks.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"
#include "keys/codes/key_types.hpp"

namespace garuda::keys {
namespace {

/// Copies the floats of `from` in canonical form. `canonical` maps the bits of one.
template <class Bits, class Canonical>
void copy_canonical(ArrayView const& from, std::byte* to, Canonical canonical) {
  auto const* const values = static_cast<std::byte const*>(from.values) + from.offset * sizeof(Bits);
  for (std::int64_t i = 0; i < from.length; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i * sizeof(Bits), sizeof(Bits));
    bits = canonical(bits);
    std::memcpy(to + i * sizeof(Bits), &bits, sizeof(Bits));
  }
}

void copy_canonical(TypeId type, ArrayView const& from, std::byte* to) {
  if (type == TypeId::float16)
    copy_canonical<std::uint16_t>(from, to, [](std::uint16_t bits) { return canonical_half(bits); });
  else if (type == TypeId::float32)
    copy_canonical<std::uint32_t>(from, to,
                                  [](std::uint32_t bits) { return canonical_bits(std::bit_cast<float>(bits)); });
  else
    copy_canonical<std::uint64_t>(from, to,
                                  [](std::uint64_t bits) { return canonical_bits(std::bit_cast<double>(bits)); });
}

using Decimal = std::array<std::uint64_t, 4>;

/// Words and their bytes the other way round; the sign, in the highest bit before or after, flipped.
Decimal turned(Decimal from, bool sign_is_first) noexcept {
  constexpr auto kSign = std::uint64_t{1} << 63;
  if (!sign_is_first) from[3] ^= kSign;
  Decimal to;
  for (std::size_t w = 0; w < to.size(); ++w) to[w] = __builtin_bswap64(from[3 - w]);
  if (sign_is_first) to[3] ^= kSign;
  return to;
}

/// Writes one array.
class Widening {
 public:
  Widening(ArrayView const& array, DataType const& from, DataType const& to, std::uint64_t first_row)
      : array_(array), from_(from), to_(to), first_row_(first_row) {}

  Result<WidenedArray> run() {
    out_.view.length = array_.length;
    out_.view.null_count = array_.validity == nullptr ? 0 : count_nulls(array_);
    if (out_.view.null_count > 0) GARUDA_TRY(copy_validity());
    GARUDA_TRY(write());
    out_.view.offsets = out_.offsets.data();
    out_.view.values = out_.values.data();
    return std::move(out_);
  }

 private:
  std::byte const* values(DataType const& type) const {
    return static_cast<std::byte const*>(array_.values) + array_.offset * byte_width(type);
  }

  Result<void> copy_validity() {
    GARUDA_TRY_ASSIGN(out_.validity, AlignedBuffer::allocate(bitmap_bytes(array_.length)));
    auto* const bits = out_.validity.as<std::uint8_t>();
    write_bits(bits, array_.length, [&](std::int64_t i) { return !array_.is_null(i); });
    out_.view.validity = bits;
    return {};
  }

  Result<void> write() {
    if (from_.id == TypeId::dictionary) return write_dictionary();
    auto const family = type_row(to_.id).family;
    if (family == TypeFamily::bytes) return write_bytes(array_, from_, [](std::int64_t i) { return i; });
    GARUDA_TRY_ASSIGN(out_.values, AlignedBuffer::allocate(array_.length * byte_width(to_)));
    if (family == TypeFamily::floating) return write_floats();
    return write_numbers();
  }

  Result<void> write_numbers() {
    auto const factors = factors_of(from_, to_);
    auto const width = static_cast<std::size_t>(byte_width(from_));
    auto const wide = static_cast<std::size_t>(byte_width(to_));
    bool const is_signed = type_row(from_.id).is_signed;
    auto const* source = values(from_);
    auto* target = out_.values.data();
    for (std::int64_t i = 0; i < array_.length; ++i, source += width, target += wide) {
      auto number = array_.is_null(i) ? Words256{} : load_number(source, width, is_signed);
      if (!scale(number, factors, to_))
        return fail(ErrorCode::invalid_input, fmt::format("the {} in row {} is beyond {}", to_string(from_),
                                                          first_row_ + static_cast<std::uint64_t>(i), to_string(to_)));
      std::memcpy(target, number.data(), wide);
    }
    return {};
  }

  Result<void> write_floats() {
    auto const* const source = values(from_);
    auto const put = [&](auto const& value_of) {
      for (std::int64_t i = 0; i < array_.length; ++i) {
        if (to_.id == TypeId::float32)
          out_.values.as<float>()[i] = static_cast<float>(value_of(i));
        else
          out_.values.as<double>()[i] = static_cast<double>(value_of(i));
      }
    };
    if (from_.id == TypeId::float16)
      put([&](std::int64_t i) { return half_value(load<std::uint16_t>(source, i)); });
    else if (from_.id == TypeId::float32)
      put([&](std::int64_t i) { return load<float>(source, i); });
    else
      visit_integers(byte_width(from_), type_row(from_.id).is_signed,
                     [&]<class T>(T*) { put([&](std::int64_t i) { return load<T>(source, i); }); });
    return {};
  }

  /// Row i has value row_of(i) of `values`, unless it is null.
  template <class RowOf>
  Result<void> write_bytes(ArrayView const& values, DataType const& type, RowOf const& row_of) {
    auto const value = [&](std::int64_t i) -> std::string_view {
      return array_.is_null(i) ? std::string_view() : bytes_at(values, type, values.offset + row_of(i));
    };
    GARUDA_TRY_ASSIGN(out_.offsets, AlignedBuffer::allocate((array_.length + 1) * 8));
    auto* const offsets = out_.offsets.as<std::int64_t>();
    offsets[0] = 0;
    for (std::int64_t i = 0; i < array_.length; ++i)
      offsets[i + 1] = offsets[i] + static_cast<std::int64_t>(value(i).size());
    GARUDA_TRY_ASSIGN(out_.values, AlignedBuffer::allocate(offsets[array_.length]));
    for (std::int64_t i = 0; i < array_.length; ++i)
      if (auto const bytes = value(i); !bytes.empty())
        std::memcpy(out_.values.data() + offsets[i], bytes.data(), bytes.size());
    return {};
  }

  /// Widens a dictionary's values first, but for strings, which have bytes of one form.
  Result<void> write_dictionary() {
    return visit_index_type(from_.index, [&]<class Index>(Index*) -> Result<void> {
      auto const row_of = [&](std::int64_t i) { return static_cast<std::int64_t>(array_.data<Index>()[i]); };
      if (is_variable_width(to_)) return write_bytes(*array_.dictionary, *from_.value, row_of);
      std::optional<WidenedArray> wide;
      if (*from_.value != to_) {
        GARUDA_TRY_ASSIGN(wide, keys::widen(*array_.dictionary, *from_.value, to_, 0));
      }
      auto const& of_dictionary = wide ? wide->view : *array_.dictionary;
      if (to_.id == TypeId::boolean) {
        GARUDA_TRY_ASSIGN(out_.values, AlignedBuffer::allocate(bitmap_bytes(array_.length)));
        write_bits(out_.values.as<std::uint8_t>(), array_.length, [&](std::int64_t i) {
          return !array_.is_null(i) &&
                 get_bit(static_cast<std::uint8_t const*>(of_dictionary.values), of_dictionary.offset + row_of(i));
        });
        return {};
      }
      auto const width = static_cast<std::size_t>(byte_width(to_));
      GARUDA_TRY_ASSIGN(out_.values, AlignedBuffer::allocate(array_.length * byte_width(to_)));
      auto const* const from = static_cast<std::byte const*>(of_dictionary.values);
      for (std::int64_t i = 0; i < array_.length; ++i) {
        auto* const to = out_.values.data() + static_cast<std::size_t>(i) * width;
        if (array_.is_null(i))
          std::memset(to, 0, width);
        else
          std::memcpy(to, from + static_cast<std::size_t>(of_dictionary.offset + row_of(i)) * width, width);
      }
      return {};
    });
  }

  ArrayView const& array_;
  DataType const& from_;
  DataType const& to_;
  std::uint64_t first_row_;
  WidenedArray out_;
};

KeyColumn plain_column(TableView table, std::size_t column) {
  KeyColumn result;
  result.field = table.schema()[column];
  result.type = result.field.type;
  for (std::size_t b = 0; b < table.num_batches(); ++b) result.arrays.push_back(table.batch(b).columns[column]);
  return result;
}

/// Values of `from` are read as those of `as` by whoever knows both types.
bool is_read_as(DataType const& from, DataType const& as) {
  auto const is_bytes = [](DataType const& type) { return has_bytes(value_type(type)); };
  return from == as || extends_to(from, as) || (is_bytes(from) && is_bytes(as));
}

}  // namespace

Decimal decimal_of_order(std::string_view bytes) noexcept {
  return turned(load<Decimal>(reinterpret_cast<std::byte const*>(bytes.data()), 0), true);
}

Result<AlignedBuffer> canonical_floats(ArrayView const& array, TypeId type) {
  GARUDA_EXPECTS(is_float_type(type));
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(array.length * byte_width(DataType{type})));
  copy_canonical(type, array, buffer.data());
  return buffer;
}

Result<void> ValueBytes::add(std::vector<ArrayView> const& parts, DataType const& type) {
  GARUDA_EXPECTS(type.id != TypeId::dictionary);
  for (auto const& array : parts) {
    if (array.length == 0) continue;
    Part part{array, std::nullopt, byte_width(type), array.offset};
    if (is_variable_width(type) || is_view(type)) part.layout = value_layout(type);
    AlignedBuffer copy;
    if (is_float_type(type.id)) {
      GARUDA_TRY_ASSIGN(copy, canonical_floats(array, type.id));
    }
    add(std::move(part), std::move(copy));
  }
  return {};
}

Result<void> ValueBytes::add_in_order(std::vector<ArrayView> const& parts) {
  for (auto const& array : parts) {
    if (array.length == 0) continue;
    GARUDA_TRY_ASSIGN(auto copy, AlignedBuffer::allocate(array.length * static_cast<std::int64_t>(sizeof(Decimal))));
    for (std::int64_t i = 0; i < array.length; ++i)
      store(copy.data(), static_cast<std::size_t>(i),
            turned(load<Decimal>(static_cast<std::byte const*>(array.values), array.offset + i), false));
    add({array, std::nullopt, sizeof(Decimal), array.offset}, std::move(copy));
  }
  return {};
}

/// `copy`: of the part's values, or empty.
void ValueBytes::add(Part part, AlignedBuffer copy) {
  first_.push_back(first_.back() + static_cast<std::uint64_t>(part.array.length));
  if (copy.size_bytes() > 0) {
    part.array.values = copy.data();
    part.value_offset = 0;
    copies_.push_back(std::move(copy));
  }
  parts_.push_back(std::move(part));
}

Result<WidenedArray> widen(ArrayView const& array, DataType const& from, DataType const& to, std::uint64_t first_row) {
  return Widening(array, from, to, first_row).run();
}

bool has_bytes(DataType const& type) noexcept { return type_row(type.id).family == TypeFamily::bytes; }

Result<KeyColumn> open_key_column(TableView table, std::size_t column, DataType const& as, Control const& control) {
  GARUDA_EXPECTS(column < table.num_columns());
  auto result = plain_column(table, column);
  std::vector<std::uint64_t> first_rows{0};
  for (auto const& array : result.arrays) {
    if (array.location.kind == Location::Kind::device)
      return fail(ErrorCode::invalid_input,
                  fmt::format("key column is in device memory, not in the host's: '{}'", result.field.name));
    first_rows.push_back(first_rows.back() + static_cast<std::uint64_t>(array.length));
  }
  if (is_read_as(result.type, as)) return result;
  result.owned.resize(result.arrays.size());
  std::mutex mutex;
  std::optional<Error> failure;
  GARUDA_TRY(for_each_block(result.arrays.size(), &control, [&](std::size_t b) {
    auto wide = widen(result.arrays[b], result.type, as, first_rows[b]);
    if (wide) {
      result.owned[b] = std::move(*wide);
      result.arrays[b] = result.owned[b].view;
      return;
    }
    std::lock_guard const lock(mutex);
    failure = std::move(wide).error();
  }));
  if (failure)
    return tl::unexpected(
        std::move(*failure).wrap(fmt::format("key column '{}' cannot be compared", result.field.name)));
  result.type = as;
  return result;
}

Result<std::vector<std::uint64_t>> add_values(KeyColumn const& column, ValueBytes& values, bool in_order) {
  std::vector<std::uint64_t> first_value;
  auto const add = [&](std::vector<ArrayView> const& arrays, DataType const& type) {
    return in_order && type.id == TypeId::decimal256 ? values.add_in_order(arrays) : values.add(arrays, type);
  };
  if (column.type.id != TypeId::dictionary) {
    GARUDA_TRY(add(column.arrays, column.type));
    return first_value;
  }
  auto const distinct = distinct_dictionaries(column.arrays);
  std::vector<std::uint64_t> starts{values.size()};
  for (auto const& dictionary : distinct.dictionaries)
    starts.push_back(starts.back() + static_cast<std::uint64_t>(dictionary.length));
  for (auto const which : distinct.of_array) first_value.push_back(starts[which]);
  GARUDA_TRY(add(distinct.dictionaries, *column.type.value));
  return first_value;
}

Result<ColumnValues> values_of(TableView table, std::size_t column) {
  ColumnValues values;
  GARUDA_TRY_ASSIGN(values.first_value, add_values(plain_column(table, column), values.bytes, true));
  return values;
}

}  // namespace garuda::keys
