#include "keys/codes/attribute_reader.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/load.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/parallel_blocks.hpp"
#include "core/type_rows.hpp"
#include "keys/codes/byte_coding.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/numbering/mix.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {
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
  given,  ///< as they are found from what values there are
};

Coding coding_of(DataType const& type) {
  auto const& row = type_row(type.id);
  switch (row.family) {
    case TypeFamily::boolean:
      return Coding::boolean;
    case TypeFamily::floating:
      return row.width == 2 ? Coding::half : Coding::floating;
    case TypeFamily::bytes:
    case TypeFamily::dictionary:
      return Coding::given;
    default:
      break;
  }
  if (row.width > 16) return Coding::given;
  if (row.width == 16) return row.is_signed ? Coding::signed128 : Coding::opaque128;
  return row.is_signed ? Coding::signed_integer : Coding::unsigned_integer;
}

/// Writes code(value) for the rows of a block whose values have type T.
template <class T, class Code>
void read_fixed(ArrayView const& array, RowBlock const& block, AttributeCodes& out, Code code) {
  auto const* const values =
      static_cast<std::byte const*>(array.values) + (array.offset + block.begin) * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < block.length; ++i) out.low[static_cast<std::size_t>(i)] = code(load<T>(values, i));
}

void read_integers(ArrayView const& array, RowBlock const& block, DataType const& type, std::uint64_t zero,
                   AttributeCodes& out) {
  visit_integers(byte_width(type), coding_of(type) == Coding::signed_integer, [&]<class T>(T*) {
    read_fixed<T>(array, block, out, [zero](T value) { return static_cast<std::uint64_t>(value) + zero; });
  });
}

/// Integers as wide codes, `zero` being the upper half of the code of 0: what their sign makes of their upper half.
void widen(std::uint64_t zero, AttributeCodes& out) {
  for (std::size_t i = 0; i < out.low.size(); ++i)
    out.high[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(out.low[i]) >> 63) ^ zero;
}

void read_wide(ArrayView const& array, RowBlock const& block, std::uint64_t zero, AttributeCodes& out) {
  auto const* const values = static_cast<std::byte const*>(array.values) + (array.offset + block.begin) * 16;
  for (std::int64_t i = 0; i < block.length; ++i) {
    out.low[static_cast<std::size_t>(i)] = load<std::uint64_t>(values, 2 * i);
    out.high[static_cast<std::size_t>(i)] = load<std::uint64_t>(values, 2 * i + 1) ^ zero;
  }
}

void read_booleans(ArrayView const& array, RowBlock const& block, AttributeCodes& out) {
  auto const* const bits = static_cast<std::uint8_t const*>(array.values);
  for (std::int64_t i = 0; i < block.length; ++i)
    out.low[static_cast<std::size_t>(i)] = get_bit(bits, array.offset + block.begin + i) ? 1 : 0;
}

/// `wide`, `zero`: see AttributeReader.
void read_values(ArrayView const& array, RowBlock const& block, DataType const& type, bool wide, std::uint64_t zero,
                 AttributeCodes& out) {
  auto const coding = coding_of(type);
  if (coding == Coding::boolean) return read_booleans(array, block, out);
  if (coding == Coding::half)
    return read_fixed<std::uint16_t>(
        array, block, out, [](std::uint16_t v) { return std::uint64_t{ordered_from_bits(canonical_half(v))}; });
  if (coding == Coding::floating && type.id == TypeId::float32)
    return read_fixed<float>(array, block, out,
                             [](float v) { return std::uint64_t{ordered_from_bits(canonical_bits(v))}; });
  if (coding == Coding::floating)
    return read_fixed<double>(array, block, out, [](double v) { return ordered_from_bits(canonical_bits(v)); });
  if (coding == Coding::opaque128 || coding == Coding::signed128) return read_wide(array, block, zero, out);
  read_integers(array, block, type, wide ? 0 : zero, out);
  if (wide) widen(zero, out);
}

std::int64_t rows_of(KeyColumn const& column) {
  std::int64_t rows = 0;
  for (auto const& array : column.arrays) rows += array.length;
  return rows;
}

/// The columns whose values are coded: all, or the one with by far fewer rows; those of the other are then read once
/// instead of twice.
std::span<KeyColumn const> columns_to_code(std::span<KeyColumn const> columns) {
  constexpr std::int64_t kMany = 8;
  for (std::size_t c = 0; columns.size() == 2 && c < 2; ++c)
    if (rows_of(columns[1 - c]) / kMany >= rows_of(columns[c])) return columns.subspan(c, 1);
  return columns;
}

/// The codes of bytes of the columns, if there are few; else none.
Result<std::vector<GivenCodes>> give_byte_codes(std::span<KeyColumn const> columns, Control const& control) {
  auto const coded = columns_to_code(columns);
  GARUDA_TRY_ASSIGN(auto const coding, find_byte_coding(coded, control));
  std::vector<GivenCodes> given;
  bool const has_others = coded.size() < columns.size();
  if (coding == nullptr || (has_others && coding->last_code() == std::numeric_limits<std::uint64_t>::max()))
    return given;
  for (auto const& column : columns) given.emplace_back(ByteCodes{coding, has_others && &column != &coded.front()});
  return given;
}

/// Types without codes: by the bytes of their values, as their dictionary would compare them.
Result<void> hash_values(KeyColumn const& column, std::span<std::uint64_t> hashes) {
  ValueBytes values;
  GARUDA_TRY_ASSIGN(auto const first_value, add_values(column, values));
  bool const is_dictionary = column.type.id == TypeId::dictionary;
  std::vector<std::uint64_t> of_dictionaries(is_dictionary ? values.size() : 0);
  auto const of_values = is_dictionary ? std::span(of_dictionaries) : hashes;
  values.for_each(0, values.size(),
                  [&](std::uint64_t i, auto const& bytes) { of_values[i] = bytes ? hash_bytes(*bytes) : kNullHash; });
  if (!is_dictionary) return {};
  std::size_t row = 0;
  for (std::size_t b = 0; b < column.arrays.size(); ++b) {
    auto const& array = column.arrays[b];
    visit_index_type(column.type.index, [&]<class Index>(Index*) {
      for (std::int64_t i = 0; i < array.length; ++i)
        hashes[row++] = array.is_null(i)
                            ? kNullHash
                            : of_values[first_value[b] + static_cast<std::uint64_t>(array.data<Index>()[i])];
    });
  }
  return {};
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

bool has_codes(DataType const& type) noexcept { return coding_of(type) != Coding::given; }

AttributeReader::AttributeReader(KeyColumn column, DataType const& as, GivenCodes given)
    : column_(std::move(column)), given_(std::move(given)) {
  auto const coding = coding_of(as);
  GARUDA_EXPECTS(std::holds_alternative<std::monostate>(given_) == (coding != Coding::given));
  wide_ = coding == Coding::opaque128 || coding == Coding::signed128;
  bool const is_signed = coding == Coding::signed_integer || coding == Coding::signed128;
  is_integer_ = is_signed || coding == Coding::unsigned_integer;
  zero_ = is_signed ? kSignBit : 0;
}

std::optional<std::uint64_t> AttributeReader::zero_in_place() const noexcept {
  auto const coding = coding_of(column_.type);
  if (wide_ || (coding != Coding::signed_integer && coding != Coding::unsigned_integer)) return std::nullopt;
  return zero_;
}

std::optional<NativeIntegers> AttributeReader::native_integers(RowBlock const& block) const noexcept {
  NativeIntegers native;
  if (auto const* const numbers = plain_numbers()) {
    native.values = reinterpret_cast<std::byte const*>(numbers->codes + block.first_row);
    native.width = sizeof(std::uint32_t);
    return native;
  }
  if (!zero_in_place()) return std::nullopt;
  auto const& column = array(block);
  native.width = byte_width(column_.type);
  native.values = static_cast<std::byte const*>(column.values) + (column.offset + block.begin) * native.width;
  native.is_signed = coding_of(column_.type) == Coding::signed_integer;
  native.zero = zero_;
  native.first_bit = column.offset + block.begin;
  if (column.validity != nullptr && count_ones(column.validity, native.first_bit, block.length) != block.length)
    native.validity = column.validity;
  return native;
}

std::optional<std::uint64_t> AttributeReader::last_code() const noexcept {
  if (auto const* const numbered = std::get_if<ColumnCodes>(&given_)) return std::max(numbered->num_codes, 1U) - 1;
  if (auto const* const bytes = std::get_if<ByteCodes>(&given_))
    return bytes->coding->last_code() + (bytes->has_others ? 1 : 0);
  return std::nullopt;
}

std::int64_t AttributeReader::num_nulls(RowBlock const& block) const noexcept {
  if (plain_numbers() != nullptr) return 0;
  if (auto const* const numbered = std::get_if<ColumnCodes>(&given_)) {
    auto const* const codes = numbered->codes + block.first_row;
    return std::count(codes, codes + block.length, kNullCode);
  }
  auto const& column = array(block);
  if (column.validity == nullptr) return 0;
  return block.length - count_ones(column.validity, column.offset + block.begin, block.length);
}

bool AttributeReader::mark_nulls(RowBlock const& block, std::uint8_t* keep) const noexcept {
  if (plain_numbers() != nullptr) return false;
  if (auto const* const numbered = std::get_if<ColumnCodes>(&given_)) {
    auto const* const codes = numbered->codes + block.first_row;
    for (std::int64_t i = 0; i < block.length; ++i)
      keep[i] = static_cast<std::uint8_t>(codes[i] != kNullCode ? keep[i] : 0);
    return true;
  }
  auto const* const validity = array(block).validity;
  if (validity == nullptr) return false;
  auto const first = array(block).offset + block.begin;
  for (std::int64_t i = 0; i < block.length; ++i)
    keep[i] = static_cast<std::uint8_t>(get_bit(validity, first + i) ? keep[i] : 0);
  return true;
}

CodeInverse AttributeReader::inverse() const noexcept {
  if (byte_coding() != nullptr) return CodeInverse::bytes;
  auto const& type = column_.type;
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
  if (auto const* const numbers = plain_numbers()) {
    std::copy_n(numbers->codes + block.first_row, rows, out.low.begin());
    return;
  }
  if (auto const* const numbered = std::get_if<ColumnCodes>(&given_)) {
    auto const* const codes = numbered->codes + block.first_row;
    for (std::size_t i = 0; i < rows; ++i) {
      out.valid[i] = codes[i] != kNullCode;
      out.low[i] = codes[i] == kNullCode ? 0 : codes[i];
    }
    return;
  }
  if (auto const* const bytes = std::get_if<ByteCodes>(&given_); bytes != nullptr && bytes->has_others)
    bytes->coding->read_others(array(block), column_.type, block.begin, block.length, out.low.data());
  else if (bytes != nullptr)
    bytes->coding->read(array(block), column_.type, block.begin, block.length, out.low.data());
  else
    read_values(array(block), block, column_.type, wide_, zero_, out);
  if (!mark_nulls(block, out.valid.data())) return;
  for (std::size_t i = 0; i < rows; ++i) {
    if (out.valid[i] != 0) continue;
    out.low[i] = 0;
    if (wide_) out.high[i] = 0;
  }
}

Result<std::vector<GivenCodes>> give_codes(std::span<KeyColumn const> columns, DataType const& type,
                                           Control const& control, std::uint32_t hash_bits) {
  std::vector<GivenCodes> given(columns.size());
  if (has_codes(type)) return given;
  if (std::ranges::all_of(columns, [](auto const& column) { return has_bytes(column.type); })) {
    GARUDA_TRY_ASSIGN(auto of_bytes, give_byte_codes(columns, control));
    if (!of_bytes.empty()) return of_bytes;
  }
  GARUDA_TRY_ASSIGN(auto numbers, encode_values(columns, control, hash_bits));
  std::ranges::move(numbers, given.begin());
  return given;
}

Result<GivenBuildCodes> give_build_codes(KeyColumn const& column, DataType const& type, bool of_bytes,
                                         Control const& control) {
  GivenBuildCodes codes;
  if (has_codes(type)) return codes;
  if (of_bytes && has_bytes(column.type)) {
    GARUDA_TRY_ASSIGN(auto coding, find_byte_coding({&column, 1}, control));
    if (coding != nullptr && coding->last_code() != std::numeric_limits<std::uint64_t>::max()) {
      codes.given = ByteCodes{coding, false};
      codes.kept.bytes = std::move(coding);
      return codes;
    }
  }
  GARUDA_TRY_ASSIGN(auto numbered, number_column(column, control));
  codes.given = std::move(numbered.codes);
  codes.kept.numbers = std::move(numbered.numbers);
  return codes;
}

Result<GivenCodes> give_probe_codes(KeyColumn const& column, BuildCodes const& build, Control const& control) {
  if (build.bytes != nullptr) return ByteCodes{build.bytes, true};
  if (build.numbers == nullptr) return GivenCodes{};
  GARUDA_TRY_ASSIGN(auto codes, look_up_values(column, *build.numbers, control));
  return codes;
}

Result<void> hash_key_column(TableView table, std::size_t column, DataType const& as, std::span<std::uint64_t> hashes) {
  GARUDA_EXPECTS(as.id != TypeId::dictionary && hashes.size() == static_cast<std::size_t>(table.num_rows()));
  GARUDA_TRY_ASSIGN(auto keys, open_key_column(table, column, as, {}));
  if (!has_codes(as)) return hash_values(keys, hashes);
  AttributeReader const reader(std::move(keys), as);
  AttributeCodes codes;
  for (auto const& block : cut_row_blocks(table)) {
    reader.read(block, codes);
    for (std::size_t i = 0; i < codes.low.size(); ++i) hashes[block.first_row + i] = codes.hash(i);
  }
  return {};
}

}  // namespace garuda::keys
