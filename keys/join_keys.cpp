#include "keys/join_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {
namespace {

/// Whether a wide code is that of a decimal of 64 bits.
bool fits_64_bits(UInt128 code) {
  auto const value = static_cast<Int128>(code ^ (UInt128{1} << 127));
  return value == static_cast<std::int64_t>(value);
}

/// The value of word 0, where words tell the keys' values.
std::optional<std::uint64_t> base_of(std::span<OpenKeys const> tables, KeyLayout const& layout) {
  auto const has_integers = [](OpenKeys const& keys) { return keys.readers[0].has_integers_of_table(); };
  if (!layout.is_packed || layout.ranges.size() != 1 || !std::ranges::all_of(tables, has_integers)) return std::nullopt;
  auto const range = layout.positions(0);
  if (!range.has_values) return 0;
  auto const& reader = tables[0].readers[0];
  if (reader.is_wide() && !(fits_64_bits(range.min) && fits_64_bits(range.max))) return std::nullopt;
  // Null is position 0, before the least key.
  return static_cast<std::uint64_t>(range.min) - reader.code_of_zero() - (range.has_nulls ? 1 : 0);
}

/// Takes the numbers of a table's keys, the `first` and those behind it.
Result<void> take_numbers(AlignedBuffer const& numbers, std::uint64_t first, EncodedKeys& keys,
                          Control const& control) {
  keys.key_bits = 32;
  GARUDA_TRY_ASSIGN(keys.owned_words, AlignedBuffer::allocate(static_cast<std::int64_t>(keys.num_rows * 4)));
  if (keys.num_rows > 0) std::memcpy(keys.owned_words.data(), numbers.as<std::uint32_t>() + first, keys.num_rows * 4);
  keys.words = keys.owned_words.data();
  return measure_words(keys, control);
}

/// Numbers the keys of both tables by their codes, row by row: equal codes, and only they, get equal numbers.
Result<void> number_keys(KeyEncoder const& encoder, EncodedJoinKeys& keys, Control const& control,
                         std::uint32_t hash_bits) {
  GARUDA_TRY_ASSIGN(auto left, encoder.encode(0, WordOrder::rows));
  GARUDA_TRY_ASSIGN(auto right, encoder.encode(1, WordOrder::rows));
  DataType type{TypeId::fixed_size_binary};
  type.fixed_byte_width = static_cast<std::int32_t>(8 * encoder.layout().rows.num_words);
  ValueBytes values;
  for (auto const* table : {&left, &right}) {
    ArrayView rows;
    rows.length = static_cast<std::int64_t>(table->packed.num_rows);
    rows.values = table->words[0].data();
    GARUDA_TRY(values.add({rows}, type));
  }
  GARUDA_TRY_ASSIGN(auto const numbers, number_values(values, control, hash_bits));
  if (numbers.num_codes >= kNullCode)
    return fail(ErrorCode::limit_exceeded, fmt::format("the key columns have too many distinct keys, together over "
                                                       "64 bits wide: {}",
                                                       numbers.num_codes));
  left.words.clear();
  right.words.clear();
  keys.left = std::move(left.packed);
  keys.right = std::move(right.packed);
  keys.is_numbered = true;
  GARUDA_TRY(take_numbers(numbers.codes, 0, keys.left, control));
  return take_numbers(numbers.codes, keys.left.num_rows, keys.right, control);
}

Result<EncodedJoinKeys> encode(std::span<KeyColumns const> tables, NullKeys nulls, Control const& control,
                               std::uint32_t hash_bits) {
  GARUDA_TRY_ASSIGN(auto const open, open_keys(tables, control, hash_bits));
  KeyEncoder encoder(open, nulls, control);
  GARUDA_TRY(encoder.scan());
  GARUDA_TRY(encoder.choose_layout(KeyForm::automatic, true));
  auto const& layout = encoder.layout();
  EncodedJoinKeys keys;
  keys.has_nulls = std::ranges::any_of(layout.ranges, &CodeRange::has_nulls);
  keys.base = base_of(open, layout);
  if (!layout.is_packed) {
    GARUDA_TRY(number_keys(encoder, keys, control, hash_bits));
    return keys;
  }
  GARUDA_TRY_ASSIGN(auto left, encoder.encode(0));
  GARUDA_TRY_ASSIGN(auto right, encoder.encode(1));
  keys.left = std::move(left.packed);
  keys.right = std::move(right.packed);
  return keys;
}

}  // namespace

Result<EncodedJoinKeys> encode_join_keys(KeyColumns const& left, KeyColumns const& right, Control const& control,
                                         NullKeys nulls, std::uint32_t hash_bits) {
  try {
    return encode(std::array{left, right}, nulls, control, hash_bits);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the blocks of the key columns");
  }
}

}  // namespace garuda::keys
