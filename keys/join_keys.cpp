#include "keys/join_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {
namespace {

/// The memory that a failed allocation was for.
constexpr std::string_view kBlocks = "the blocks of the key columns";

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

/// Words of keys that are not packed, row by row, as values.
Result<void> add_rows(AlignedBuffer const& words, std::uint64_t num_rows, KeyLayout const& layout, ValueBytes& values) {
  DataType type{TypeId::fixed_size_binary};
  type.fixed_byte_width = static_cast<std::int32_t>(8 * layout.rows.num_words);
  ArrayView rows;
  rows.length = static_cast<std::int64_t>(num_rows);
  rows.values = words.data();
  return values.add({rows}, type);
}

/// Numbers the rows of values, fewer than `most_codes` of them distinct. Errors: limit_exceeded.
Result<ValueCodes> number_rows_of(ValueBytes const& values, Control const& control, std::uint32_t hash_bits,
                                  std::uint32_t most_codes) {
  GARUDA_TRY_ASSIGN(auto numbers, number_values(values, control, hash_bits));
  if (numbers.num_codes < most_codes) return numbers;
  return fail(ErrorCode::limit_exceeded, fmt::format("the key columns have too many distinct keys, together over "
                                                     "64 bits wide: {}",
                                                     numbers.num_codes));
}

/// Numbers the keys of both tables by their codes, row by row: equal codes, and only they, get equal numbers.
Result<void> number_keys(KeyEncoder const& encoder, EncodedJoinKeys& keys, Control const& control,
                         std::uint32_t hash_bits) {
  GARUDA_TRY_ASSIGN(auto left, encoder.encode(0, WordOrder::rows));
  GARUDA_TRY_ASSIGN(auto right, encoder.encode(1, WordOrder::rows));
  ValueBytes values;
  for (auto const* table : {&left, &right})
    GARUDA_TRY(add_rows(table->words[0], table->packed.num_rows, encoder.layout(), values));
  GARUDA_TRY_ASSIGN(auto const numbers, number_rows_of(values, control, hash_bits, kNullCode));
  left.words.clear();
  right.words.clear();
  keys.left = std::move(left.packed);
  keys.right = std::move(right.packed);
  keys.is_numbered = true;
  GARUDA_TRY(take_numbers(numbers.codes, 0, keys.left, control));
  return take_numbers(numbers.codes, keys.left.num_rows, keys.right, control);
}

/// Leaves out the rows of `keys` whose number is `other`; `numbers` becomes their words. Throws std::bad_alloc.
Result<void> take_numbers_but(std::uint32_t other, AlignedBuffer numbers, EncodedKeys& keys, Control const& control) {
  auto const* const all = numbers.as<std::uint32_t>();
  std::vector<std::uint64_t> firsts((keys.num_rows + kBlockRows - 1) / kBlockRows + 1);
  GARUDA_TRY(for_each_range(keys.num_rows, &control, [&](std::uint64_t begin, std::uint64_t end) {
    firsts[begin / kBlockRows + 1] =
        end - begin - static_cast<std::uint64_t>(std::count(all + begin, all + end, other));
  }));
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  if (firsts.back() == keys.num_rows) return take_numbers(numbers, 0, keys, control);
  bool const is_wide = keys.table_rows > std::uint64_t{1} << 32;
  auto const kept = static_cast<std::int64_t>(firsts.back());
  GARUDA_TRY_ASSIGN(auto row_ids, AlignedBuffer::allocate(kept * (is_wide ? 8 : 4)));
  GARUDA_TRY_ASSIGN(keys.owned_words, AlignedBuffer::allocate(kept * 4));
  auto const move_rows = [&]<class Row>(Row* to) {
    auto const* const from = keys.row_ids.size_bytes() == 0 ? nullptr : keys.row_ids.as<Row>();
    return for_each_range(keys.num_rows, &control, [&](std::uint64_t begin, std::uint64_t end) {
      auto at = firsts[begin / kBlockRows];
      for (auto i = begin; i < end; ++i) {
        if (all[i] == other) continue;
        keys.owned_words.as<std::uint32_t>()[at] = all[i];
        to[at++] = from == nullptr ? static_cast<Row>(i) : from[i];
      }
    });
  };
  GARUDA_TRY(is_wide ? move_rows(row_ids.as<std::uint64_t>()) : move_rows(row_ids.as<std::uint32_t>()));
  keys.row_ids = std::move(row_ids);
  keys.num_rows = firsts.back();
  keys.key_bits = 32;
  keys.words = keys.owned_words.data();
  return measure_words(keys, control);
}

Result<EncodedJoinKeys> encode_tables(std::span<KeyColumns const> tables, NullKeys nulls, Control const& control,
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

Result<std::unique_ptr<BuildKeys>> BuildKeys::create(KeyColumns const& build, std::vector<ComparedKey> compared,
                                                     NullKeys nulls, Control const& control) {
  GARUDA_EXPECTS(!build.columns.empty() && build.columns.size() == compared.size());
  return or_out_of_memory(kBlocks, [&]() -> Result<std::unique_ptr<BuildKeys>> {
    std::unique_ptr<BuildKeys> keys(new BuildKeys(nulls, std::move(compared)));
    GARUDA_TRY(keys->encode_build(build, control));
    return keys;
  });
}

Result<void> BuildKeys::encode_build(KeyColumns const& build, Control const& control) {
  OpenKeys open{build.table, build.columns, {}, cut_row_blocks(build.table)};
  for (std::size_t c = 0; c < compared_.size(); ++c) {
    auto const& [type, of_bytes] = compared_[c];
    GARUDA_TRY_ASSIGN(auto column, open_key_column(build.table, build.columns[c], type, control));
    GARUDA_TRY_ASSIGN(auto codes, give_build_codes(column, type, of_bytes, control));
    codes_.push_back(std::move(codes.kept));
    open.readers.emplace_back(std::move(column), type, std::move(codes.given));
  }
  KeyEncoder encoder({&open, 1}, nulls_, control);
  GARUDA_TRY(encoder.scan());
  GARUDA_TRY(encoder.choose_layout(KeyForm::automatic, true));
  layout_ = encoder.layout();
  base_ = base_of({&open, 1}, layout_);
  GARUDA_TRY_ASSIGN(auto table, encoder.encode(0, WordOrder::rows));
  words_ = std::move(table.packed);
  if (!layout_.is_packed) {
    rows_ = std::move(table.words[0]);
    ValueBytes values;
    GARUDA_TRY(add_rows(rows_, words_.num_rows, layout_, values));
    // One number is left for keys that are not among them.
    GARUDA_TRY_ASSIGN(auto const numbers, number_rows_of(values, control, 64, kNullCode - 1));
    GARUDA_TRY_ASSIGN(numbers_, ValueNumbers::create(std::move(values), numbers, control));
    GARUDA_TRY(take_numbers(numbers.codes, 0, words_, control));
  }
  for (std::size_t c = 0; c < codes_.size(); ++c)
    if (codes_[c].numbers != nullptr) columns_.push_back(std::move(open.readers[c]).take_column());
  return {};
}

std::uint64_t BuildKeys::owned_bytes() const noexcept {
  auto bytes = static_cast<std::uint64_t>(rows_.size_bytes()) + (numbers_ ? numbers_->owned_bytes() : 0);
  for (auto const& codes : codes_) bytes += codes.numbers != nullptr ? codes.numbers->owned_bytes() : 0;
  for (auto const& column : columns_) bytes += column.owned_bytes();
  return bytes;
}

Result<EncodedJoinKeys> BuildKeys::encode(KeyColumns const& probe, Control const& control) const {
  GARUDA_EXPECTS(probe.columns.size() == compared_.size());
  return or_out_of_memory(kBlocks, [&]() -> Result<EncodedJoinKeys> {
    OpenKeys open{probe.table, probe.columns, {}, cut_row_blocks(probe.table)};
    for (std::size_t c = 0; c < compared_.size(); ++c) {
      GARUDA_TRY_ASSIGN(auto column, open_key_column(probe.table, probe.columns[c], compared_[c].type, control));
      GARUDA_TRY_ASSIGN(auto codes, give_probe_codes(column, codes_[c], control));
      open.readers.emplace_back(std::move(column), compared_[c].type, std::move(codes));
    }
    KeyEncoder encoder({&open, 1}, nulls_, control);
    EncodedJoinKeys keys;
    keys.has_nulls = std::ranges::any_of(layout_.ranges, &CodeRange::has_nulls);
    if (open.readers[0].has_integers_of_table()) keys.base = base_;
    GARUDA_TRY_ASSIGN(auto few, encoder.encode_few(0, layout_));
    if (few) {
      keys.left = std::move(*few);
      return keys;
    }
    GARUDA_TRY(encoder.scan());
    GARUDA_TRY(encoder.take_layout(layout_));
    GARUDA_TRY_ASSIGN(auto table, encoder.encode(0, WordOrder::rows));
    keys.left = std::move(table.packed);
    if (layout_.is_packed) return keys;
    keys.is_numbered = true;
    ValueBytes values;
    GARUDA_TRY(add_rows(table.words[0], keys.left.num_rows, layout_, values));
    GARUDA_TRY_ASSIGN(auto numbers, numbers_->look_up(values, control));
    GARUDA_TRY(take_numbers_but(numbers_->other(), std::move(numbers), keys.left, control));
    return keys;
  });
}

Result<EncodedJoinKeys> encode_join_keys(KeyColumns const& left, KeyColumns const& right, Control const& control,
                                         NullKeys nulls, std::uint32_t hash_bits) {
  return or_out_of_memory(kBlocks, [&] { return encode_tables(std::array{left, right}, nulls, control, hash_bits); });
}

}  // namespace garuda::keys
