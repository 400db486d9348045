// Packed keys come back as they were.
#include "keys/group_keys.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "keys/key_layout.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/column_reader.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::typed;

/// A column of Ts; what is nullopt is null.
template <class T>
Column typed_column(DataType type, std::vector<std::optional<T>> const& values) {
  return reference::make_column(std::move(type), values);
}

/// Encodes the columns as one key, decodes every row, and compares cell by cell.
void expect_round_trip(std::vector<Column> const& columns, KeyForm form = KeyForm::packed) {
  Schema schema;
  std::vector<DataType> types;
  std::vector<std::size_t> positions;
  for (auto const& column : columns) {
    positions.push_back(schema.size());
    schema.push_back({std::string("k").append(std::to_string(schema.size())), column.type, true});
    types.push_back(column.type);
  }
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  Table const table(schema, std::move(batches));
  auto const keys = encode_group_keys(table.view(), positions, form, {});
  ASSERT_TRUE(keys) << keys.error().describe();
  auto const decoder = KeyDecoder::create(*keys, types);
  ASSERT_TRUE(decoder);
  std::vector<std::vector<std::uint64_t>> words(std::max<std::size_t>(keys->words.size(), 1));
  for (std::uint64_t row = 0; row < keys->num_rows; ++row)
    if (keys->is_packed)
      words[0].push_back(keys->packed.key_bits == 32 ? keys->packed.words32()[row] : keys->packed.words64()[row]);
  std::vector<std::uint64_t*> all;
  for (std::size_t w = 0; w < keys->words.size(); ++w) {
    words[w].assign(keys->word(w).begin(), keys->word(w).end());
    all.push_back(words[w].data());
  }
  fold_words(all, keys->num_rows);
  std::vector<Batch> decoded(1);
  std::vector<KeyDecoder::Column> memory;
  decoded[0].num_rows = table.num_rows();
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto column = decoder->decode(k, words[decoder->word_of(k)], {});
    ASSERT_TRUE(column);
    decoded[0].columns.push_back(column->array);
    memory.push_back(std::move(*column));
  }
  for (std::size_t k = 0; k < columns.size(); ++k)
    for (std::int64_t row = 0; row < table.num_rows(); ++row)
      EXPECT_EQ(reference::read_cell(types[k], decoded[0].columns[k], row),
                reference::read_cell(types[k], columns[k].array, row))
          << "column " << k << " row " << row;
}

TEST(KeyDecoder, IntegersOfEveryWidth) {
  expect_round_trip({typed_column<std::int8_t>(typed(TypeId::int8), {-128, 127, 0}),
                     typed_column<std::uint8_t>(typed(TypeId::uint8), {255, 0, 3}),
                     typed_column<std::int16_t>(typed(TypeId::int16), {-5, 300, 7}),
                     typed_column<std::int32_t>(typed(TypeId::date32), {18'000, -1, 5})});
  expect_round_trip({typed_column<std::uint16_t>(typed(TypeId::uint16), {65'535, std::nullopt, 3}),
                     typed_column<std::int64_t>(typed(TypeId::int64), {1LL << 60, (1LL << 60) + 9, std::nullopt}),
                     typed_column<std::uint32_t>(typed(TypeId::uint32), {0xFFFF'FFFF, 0xFFFF'FFF0, 0xFFFF'FFFE})});
}

TEST(KeyDecoder, OneKeyOfTheWholeRange) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
  expect_round_trip({typed_column<std::int64_t>(typed(TypeId::int64), {kLeast, kGreatest, 0, -1})});
  expect_round_trip({typed_column<std::int64_t>(typed(TypeId::int64), {kLeast, kGreatest, 0, -1}),
                     typed_column<std::int32_t>(typed(TypeId::int32), {4, 4, 4, 4})});
  expect_round_trip({typed_column<std::int32_t>(typed(TypeId::int32), {4, 4, 4, 4}),
                     typed_column<std::uint64_t>(typed(TypeId::uint64), {0, ~std::uint64_t{0}, 1, 2})});
  expect_round_trip({typed_column<std::int32_t>(typed(TypeId::int32), {7, 3, 9})});  // borrowed words
  expect_round_trip({typed_column<std::int32_t>(typed(TypeId::int32), {std::nullopt, std::nullopt})});
}

TEST(KeyDecoder, KeysOfSeveralWords) {
  auto const all = typed_column<std::int64_t>(
      typed(TypeId::int64), {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 7});
  auto const few = typed_column<std::int32_t>(typed(TypeId::int32), {1, std::nullopt, 3});
  auto const names = reference::make_strings({"ab", std::nullopt, "a"});
  expect_round_trip({all, few, all, names, few}, KeyForm::automatic);
  expect_round_trip({few, names, all, few, few}, KeyForm::words);
  expect_round_trip({few, names, few}, KeyForm::words);
}

/// Numbers of rows at which tasks, and pieces that they write at once, begin and end.
TEST(KeyDecoder, StringsOfEveryLength) {
  expect_round_trip({reference::make_strings({"", "", ""})});
  expect_round_trip({reference::make_strings({"", std::nullopt, ""})});
  for (std::size_t const rows : {1, 63, 64, 65, 1'023, 1'024, 1'025, 16'384, 16'385, 20'000})
    for (bool const has_nulls : {false, true}) {
      std::vector<std::optional<std::string>> even;
      std::vector<std::optional<std::string>> uneven;
      std::vector<std::optional<std::string>> wide;
      for (std::size_t row = 0; row < rows; ++row) {
        bool const is_null = has_nulls && row % 5 == 1;
        auto const digits = std::to_string(1'000 + row * 7 % 1'000);
        even.push_back(is_null ? std::nullopt : std::optional("id" + digits));
        uneven.push_back(is_null ? std::nullopt : std::optional(digits.substr(0, row % 5)));
        wide.push_back(is_null ? std::nullopt : std::optional("twenty bytes before " + digits));
      }
      for (auto const& values : {even, uneven, wide}) expect_round_trip({reference::make_strings(values)});
    }
}

TEST(KeyDecoder, FloatsInCanonicalForm) {
  expect_round_trip({typed_column<double>(typed(TypeId::float64), {1.5, 0.0, -1e300, 0x1p-1074})});
  expect_round_trip({typed_column<float>(typed(TypeId::float32), {1.5F, 0.0F, -3e38F, std::nullopt, std::nanf("")})});
}

TEST(KeyDecoder, RefusesWhatCodesDoNotTell) {
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch({reference::make_booleans({true, false})}));
  Table const table({{"k", typed(TypeId::boolean), true}}, std::move(batches));
  std::vector<std::size_t> const columns{0};
  auto const keys = encode_group_keys(table.view(), columns, KeyForm::automatic, {});
  ASSERT_TRUE(keys);
  EXPECT_FALSE(KeyDecoder::create(*keys, {typed(TypeId::boolean)}));
}

}  // namespace
}  // namespace garuda::keys
