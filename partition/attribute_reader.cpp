#include "partition/attribute_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/ordered_value.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

constexpr auto kSignBit = integer_code(std::int64_t{0});

/// How the values of a type become codes.
enum class Coding : std::uint8_t {
  boolean,
  signed_integer,
  unsigned_integer,
  half,
  floating,
  opaque128,  ///< 16 bytes, compared for equality only
  signed128,
  dictionary,
};

Coding coding_of(DataType const& type) {
  switch (type.id) {
    case TypeId::boolean:
      return Coding::boolean;
    case TypeId::int8:
    case TypeId::int16:
    case TypeId::int32:
    case TypeId::int64:
    case TypeId::decimal32:
    case TypeId::decimal64:
    case TypeId::date32:
    case TypeId::date64:
    case TypeId::time32:
    case TypeId::time64:
    case TypeId::timestamp:
    case TypeId::duration:
    case TypeId::interval_months:
      return Coding::signed_integer;
    case TypeId::uint8:
    case TypeId::uint16:
    case TypeId::uint32:
    case TypeId::uint64:
    case TypeId::interval_day_time:
      return Coding::unsigned_integer;
    case TypeId::float16:
      return Coding::half;
    case TypeId::float32:
    case TypeId::float64:
      return Coding::floating;
    case TypeId::interval_month_day_nano:
      return Coding::opaque128;
    case TypeId::decimal128:
      return Coding::signed128;
    case TypeId::fixed_size_binary:
    case TypeId::utf8:
    case TypeId::large_utf8:
    case TypeId::binary:
    case TypeId::large_binary:
    case TypeId::dictionary:
      break;
  }
  return Coding::dictionary;
}

/// Writes code(value) for the rows of a block whose values have type T.
template <class T, class Code>
void read_fixed(ArrayView const& array, RowBlock const& block, AttributeCodes& out, Code code) {
  auto const* const values =
      static_cast<std::byte const*>(array.values) + (array.offset + block.begin) * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < block.length; ++i) out.low[static_cast<std::size_t>(i)] = code(load<T>(values, i));
}

void read_integers(ArrayView const& array, RowBlock const& block, std::int32_t width, bool is_signed,
                   AttributeCodes& out) {
  auto const read = [&]<class Signed>(Signed*) {
    using Unsigned = std::make_unsigned_t<Signed>;
    if (is_signed)
      read_fixed<Signed>(array, block, out, [](Signed value) { return integer_code(value); });
    else
      read_fixed<Unsigned>(array, block, out, [](Unsigned value) { return std::uint64_t{value}; });
  };
  switch (width) {
    case 1:
      return read(static_cast<std::int8_t*>(nullptr));
    case 2:
      return read(static_cast<std::int16_t*>(nullptr));
    case 4:
      return read(static_cast<std::int32_t*>(nullptr));
    default:
      return read(static_cast<std::int64_t*>(nullptr));
  }
}

void read_wide(ArrayView const& array, RowBlock const& block, std::uint64_t flip, AttributeCodes& out) {
  auto const* const values = static_cast<std::byte const*>(array.values) + (array.offset + block.begin) * 16;
  for (std::int64_t i = 0; i < block.length; ++i) {
    out.low[static_cast<std::size_t>(i)] = load<std::uint64_t>(values, 2 * i);
    out.high[static_cast<std::size_t>(i)] = load<std::uint64_t>(values, 2 * i + 1) ^ flip;
  }
}

void read_booleans(ArrayView const& array, RowBlock const& block, AttributeCodes& out) {
  auto const* const bits = static_cast<std::uint8_t const*>(array.values);
  for (std::int64_t i = 0; i < block.length; ++i)
    out.low[static_cast<std::size_t>(i)] = get_bit(bits, array.offset + block.begin + i) ? 1 : 0;
}

void read_values(ArrayView const& array, RowBlock const& block, DataType const& type, AttributeCodes& out) {
  auto const coding = coding_of(type);
  if (coding == Coding::boolean) return read_booleans(array, block, out);
  if (coding == Coding::half)
    return read_fixed<std::uint16_t>(array, block, out,
                                     [](std::uint16_t v) { return std::uint64_t{canonical_half(v)}; });
  if (coding == Coding::floating && type.id == TypeId::float32)
    return read_fixed<float>(array, block, out,
                             [](float v) { return std::uint64_t{ordered_from_bits(canonical_bits(v))}; });
  if (coding == Coding::floating)
    return read_fixed<double>(array, block, out, [](double v) { return ordered_from_bits(canonical_bits(v)); });
  if (coding == Coding::opaque128 || coding == Coding::signed128)
    return read_wide(array, block, coding == Coding::signed128 ? kSignBit : 0, out);
  read_integers(array, block, byte_width(type), coding == Coding::signed_integer, out);
}

}  // namespace

std::vector<RowBlock> cut_row_blocks(TableView table) {
  std::vector<RowBlock> blocks;
  std::uint64_t first_row = 0;
  constexpr auto kStep = static_cast<std::int64_t>(kBlockRows);
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const rows = table.batch(b).num_rows;
    for (std::int64_t begin = 0; begin < rows; begin += kStep)
      blocks.push_back({b, begin, std::min(kStep, rows - begin), first_row + static_cast<std::uint64_t>(begin)});
    first_row += static_cast<std::uint64_t>(rows);
  }
  return blocks;
}

Result<AttributeReader> AttributeReader::create(TableView table, std::size_t column, Control const& control) {
  GARUDA_EXPECTS(column < table.num_columns());
  AttributeReader reader(table, column);
  for (std::size_t b = 0; b < table.num_batches(); ++b)
    if (table.batch(b).columns[column].location.kind == Location::Kind::device)
      return fail(ErrorCode::invalid_input,
                  fmt::format("key column is in device memory, not in the host's: '{}'", table.schema()[column].name));
  auto const coding = coding_of(table.schema()[column].type);
  reader.wide_ = coding == Coding::opaque128 || coding == Coding::signed128;
  if (coding == Coding::dictionary) {
    GARUDA_TRY_ASSIGN(reader.codes_, encode_values(table, column, control));
  }
  return reader;
}

std::uint64_t AttributeReader::bytes() const noexcept {
  return codes_ ? static_cast<std::uint64_t>(codes_->codes.size_bytes()) : 0;
}

std::optional<std::uint64_t> AttributeReader::zero_in_place() const noexcept {
  auto const coding = coding_of(field().type);
  if (coding == Coding::signed_integer) return kSignBit;
  if (coding == Coding::unsigned_integer) return 0;
  return std::nullopt;
}

std::optional<NativeIntegers> AttributeReader::native_integers(RowBlock const& block) const noexcept {
  auto const coding = coding_of(field().type);
  if (coding != Coding::signed_integer && coding != Coding::unsigned_integer) return std::nullopt;
  auto const& array = table_.batch(block.batch).columns[column_];
  if (array.validity != nullptr) return std::nullopt;
  auto const width = byte_width(field().type);
  return NativeIntegers{static_cast<std::byte const*>(array.values) + (array.offset + block.begin) * width, width,
                        coding == Coding::signed_integer};
}

CodeInverse AttributeReader::inverse() const noexcept {
  auto const& type = field().type;
  switch (coding_of(type)) {
    case Coding::signed_integer:
      return CodeInverse::signed_integer;
    case Coding::unsigned_integer:
      return CodeInverse::unsigned_integer;
    case Coding::floating:
      return type.id == TypeId::float32 ? CodeInverse::float32 : CodeInverse::float64;
    default:
      return CodeInverse::none;
  }
}

void AttributeReader::read(RowBlock const& block, AttributeCodes& out) const {
  auto const rows = static_cast<std::size_t>(block.length);
  out.low.resize(rows);
  out.high.resize(wide_ ? rows : 0);
  out.valid.assign(rows, 1);
  if (codes_) {
    auto const* const codes = codes_->codes.as<std::uint32_t>() + block.first_row;
    for (std::size_t i = 0; i < rows; ++i) {
      out.valid[i] = codes[i] != kNullCode;
      out.low[i] = codes[i] == kNullCode ? 0 : codes[i];
    }
    return;
  }
  auto const& array = table_.batch(block.batch).columns[column_];
  read_values(array, block, field().type, out);
  if (array.validity == nullptr) return;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!array.is_null(block.begin + static_cast<std::int64_t>(i))) continue;
    out.valid[i] = 0;
    out.low[i] = 0;
    if (wide_) out.high[i] = 0;
  }
}

}  // namespace garuda::partition
