// Group-by keys become words that are equal exactly when the keys are, in every form.
#include "keys/group_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "keys/numbering/mix.hpp"
#include "keys/numbering/value_dictionary.hpp"
#include "keys/samples/key_sample.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/column_reader.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::make_column;
using reference::typed;

/// A table of columns k0, k1, … in one batch.
Table table_of(std::vector<Column> const& columns) {
  Schema schema;
  for (std::size_t c = 0; c < columns.size(); ++c)
    schema.push_back({std::string("k").append(std::to_string(c)), columns[c].type, true});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return Table(std::move(schema), std::move(batches));
}

std::vector<std::size_t> all_columns(Table const& table) {
  std::vector<std::size_t> columns(table.schema().size());
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = c;
  return columns;
}

EncodedGroupKeys encode(Table const& table, KeyForm form = KeyForm::automatic) {
  auto keys = encode_group_keys(table.view(), all_columns(table), form, {});
  EXPECT_TRUE(keys) << keys.error().describe();
  return std::move(*keys);
}

/// All words of a row.
std::vector<std::uint64_t> words_of(EncodedGroupKeys const& keys, std::size_t row) {
  if (keys.is_packed)
    return {keys.packed.key_bits == 32 ? std::uint64_t{keys.packed.words32()[row]} : keys.packed.words64()[row]};
  std::vector<std::uint64_t> words;
  for (std::size_t w = 0; w < keys.words.size(); ++w) words.push_back(keys.word(w)[row]);
  return words;
}

/// Words of rows are equal exactly when `labels` are.
void expect_injective(EncodedGroupKeys const& keys, std::vector<int> const& labels) {
  std::map<int, std::vector<std::uint64_t>> words_of_label;
  std::set<std::vector<std::uint64_t>> seen;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    auto const words = words_of(keys, row);
    auto const [found, is_new] = words_of_label.emplace(labels[row], words);
    EXPECT_EQ(found->second, words) << "row " << row;
    if (is_new) {
      EXPECT_TRUE(seen.insert(words).second) << "row " << row;
    }
    if (!keys.is_packed) continue;
    EXPECT_GE(words[0], keys.packed.min);
    EXPECT_LE(words[0], keys.packed.max);
  }
}

void expect_injective_in_every_form(Table const& table, std::vector<int> const& labels) {
  for (auto const form : {KeyForm::automatic, KeyForm::words, KeyForm::rowid}) {
    SCOPED_TRACE(static_cast<int>(form));
    expect_injective(encode(table, form), labels);
  }
}

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

TEST(GroupKeys, IntegersOfTheWholeRangeWithNulls) {
  auto const column = make_column<std::int64_t>(typed(TypeId::int64), {kMin, kMax, std::nullopt, 0, kMin, -1, kMax}, 2);
  auto const table = table_of({column});
  auto const keys = encode(table);
  // 2^64 values and null do not fit 64 bits.
  EXPECT_FALSE(keys.is_packed);
  EXPECT_EQ(keys.packed_bits, 65U);
  expect_injective_in_every_form(table, {0, 1, 2, 3, 0, 4, 1});
  auto const without_null = table_of({make_column<std::int64_t>(typed(TypeId::int64), {kMin, kMax, 0, kMin})});
  EXPECT_TRUE(encode(without_null).is_packed);
  expect_injective_in_every_form(without_null, {0, 1, 2, 0});
}

TEST(GroupKeys, FloatsInCanonicalForm) {
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  auto const infinity = std::numeric_limits<double>::infinity();
  expect_injective_in_every_form(
      table_of({make_column<double>(typed(TypeId::float64),
                                    {0.0, -0.0, nan, -nan, infinity, -infinity, 5e-324, std::nan("7")})}),
      {0, 0, 1, 1, 2, 3, 4, 1});
  expect_injective_in_every_form(
      table_of({make_column<float>(typed(TypeId::float32), {0.0F, -0.0F, std::nanf("1"), -1.0F, std::nanf("2")})}),
      {0, 0, 1, 2, 1});
  // 1.0, -0, +0, two NaNs.
  expect_injective_in_every_form(
      table_of({make_column<std::uint16_t>(typed(TypeId::float16), {0x3C00, 0x8000, 0, 0x7C01, 0xFE00})}),
      {0, 1, 1, 2, 2});
}

TEST(GroupKeys, StringsBooleansDecimalsAndDictionaries) {
  expect_injective_in_every_form(table_of({reference::make_strings({"b", "a", std::nullopt, "", "b", "ab", ""})}),
                                 {0, 1, 2, 3, 0, 4, 3});
  expect_injective_in_every_form(table_of({reference::make_booleans({true, std::nullopt, false, true})}), {0, 1, 2, 0});
  auto decimal = typed(TypeId::decimal128);
  decimal.precision = 38;
  expect_injective_in_every_form(
      table_of({make_column<reference::Decimal128>(decimal, {{{1, 0}}, {{1, 1}}, {{1, -1}}, std::nullopt, {{1, 1}}})}),
      {0, 1, 2, 3, 1});
  // Values that a dictionary holds twice, and a null among them.
  auto const dictionary = reference::make_strings({"x", "y", "x", std::nullopt});
  expect_injective_in_every_form(table_of({reference::make_dictionary({0, 1, 2, 3, std::nullopt}, dictionary)}),
                                 {0, 1, 0, 2, 2});
}

TEST(GroupKeys, AttributesPackTightlyIntoOneWord) {
  auto const flags = make_column<std::int32_t>(typed(TypeId::int32), {7, 9, 8, 7, 8, 7});
  auto const letters = reference::make_strings({"a", "b", "a", "b", std::nullopt, "b"});
  auto const table = table_of({flags, letters});
  auto const keys = encode(table);
  ASSERT_TRUE(keys.is_packed);
  EXPECT_EQ(keys.packed_bits, 4U);  // 3 numbers × (2 letters and null) = 9
  EXPECT_LT(keys.packed.max, 9U);
  EXPECT_EQ(keys.packed.key_bits, 32U);
  expect_injective_in_every_form(table, {0, 1, 2, 3, 4, 3});
}

TEST(GroupKeys, WordsHoldAsManyAttributesAsFit) {
  std::vector<Column> columns;
  std::vector<int> labels;
  constexpr std::size_t kColumns = 40;
  for (std::size_t c = 0; c < kColumns; ++c) {
    std::vector<std::optional<std::int64_t>> values;
    for (std::size_t row = 0; row <= kColumns; ++row)
      values.push_back(row == c ? std::nullopt : std::optional<std::int64_t>(c == 0 ? kMin : 5));
    columns.push_back(make_column<std::int64_t>(typed(TypeId::int64), values));
  }
  for (std::size_t row = 0; row <= kColumns; ++row) labels.push_back(static_cast<int>(row));
  auto const table = table_of(columns);
  auto const keys = encode(table, KeyForm::words);
  EXPECT_EQ(keys.words.size(), 1U) << "one value and null: a bit each";
  expect_injective(keys, labels);
}

TEST(GroupKeys, AttributesThatNoWordHoldsTakeWordsOfTheirOwn) {
  auto decimal = typed(TypeId::decimal128);
  decimal.precision = 38;
  auto const all = make_column<std::int64_t>(typed(TypeId::int64), {kMin, kMax, 0, 0, std::nullopt, kMin, 0});
  auto const wide = make_column<reference::Decimal128>(
      decimal, {{{1, 0}}, {{1, 0}}, {{0, 1}}, {{1, -1}}, {{0, 1}}, {{1, 0}}, std::nullopt});
  auto const few = make_column<std::int32_t>(typed(TypeId::int32), {1, 1, 2, 2, 1, 1, 2});
  auto const table = table_of({few, all, wide, few});
  auto const keys = encode(table);
  ASSERT_FALSE(keys.is_packed);
  EXPECT_EQ(keys.words.size(), 7U) << "few and few; all takes 3 with null, so does wide";
  expect_injective(keys, {0, 1, 2, 3, 4, 0, 5});
}

TEST(GroupKeys, PackedKeysThatDoNotFitAreRefused) {
  auto const wide = make_column<std::int64_t>(typed(TypeId::int64), {kMin, kMax});
  auto const table = table_of({wide, wide});
  auto const refused = encode_group_keys(table.view(), all_columns(table), KeyForm::packed, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  EXPECT_EQ(refused.error().message(), "keys=packed needs keys of at most 64 bits together: 128");
}

TEST(GroupKeys, OneColumnOfWordsIsBorrowed) {
  auto const column = make_column<std::int32_t>(typed(TypeId::int32), {3, 9, 6}, 2);
  auto const table = table_of({column});
  auto const keys = encode(table);
  EXPECT_EQ(keys.packed.words, column.array.data<std::int32_t>());
  EXPECT_EQ(keys.bytes(), 0U);
  EXPECT_EQ(keys.packed.min, 3U);
  EXPECT_EQ(keys.packed.max, 9U);
  EXPECT_EQ(keys.packed.common_low_bits, 0U);
  auto const negative = table_of({make_column<std::int32_t>(typed(TypeId::int32), {-64, 64})});
  EXPECT_EQ(encode(negative).packed.max, 128U);
  EXPECT_EQ(encode(negative).packed.common_low_bits, 7U);
}

TEST(GroupKeys, WordsOfSeveralBatchesStayThereUntilTheyAreGathered) {
  auto const type = typed(TypeId::int32);
  Schema const schema{{"k", type, false}};
  std::vector<Batch> batches;
  std::vector<std::int32_t> all;
  for (int rows : {3, 0, 70'000, 1}) {
    std::vector<std::int32_t> values;
    for (int i = 0; i < rows; ++i) values.push_back(static_cast<std::int32_t>(all.size() + values.size()) % 977 + 4);
    all.insert(all.end(), values.begin(), values.end());
    batches.push_back(reference::make_batch({make_column<std::int32_t>(type, {values.begin(), values.end()}, 1)}));
  }
  Table const table(schema, std::move(batches));
  std::size_t const columns[] = {0};
  auto sampled = sample_group_keys(table.view(), columns, {});
  ASSERT_TRUE(sampled);
  auto keys = encode_group_keys(std::move(*sampled), KeyForm::automatic, {}, true);
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->parts.size(), 3U) << "of batches that have rows";
  EXPECT_EQ(keys->parts[1].first_row, 3U);
  EXPECT_EQ(keys->parts[2].words, table.batches()[3].columns[0].data<std::int32_t>());
  EXPECT_EQ(keys->bytes(), 4 * all.size()) << "what gathering takes";
  EXPECT_EQ(keys->packed.min, 4U);
  EXPECT_EQ(keys->packed.max, 980U);
  ASSERT_TRUE(gather_words(*keys, {}));
  EXPECT_TRUE(keys->parts.empty());
  EXPECT_TRUE(std::ranges::equal(keys->packed.words32(), all, {}, {}, [](auto value) { return std::uint32_t(value); }));
}

TEST(GroupKeys, TheMostDiverseAttributeIsChosen) {
  std::vector<std::int32_t> few;
  std::vector<std::int64_t> many;
  for (int row = 0; row < 5000; ++row) {
    few.push_back(row % 3);
    many.push_back(std::int64_t{row % 1000} << 40);
  }
  auto const table = table_of(
      {make_column<std::int32_t>(typed(TypeId::int32), few), make_column<std::int64_t>(typed(TypeId::int64), many)});
  for (auto const form : {KeyForm::automatic, KeyForm::words}) {
    auto const keys = encode(table, form);
    EXPECT_EQ(keys.most_diverse, 1U);
    EXPECT_EQ(keys.attributes[0].nonempty_bins, 3U);
    EXPECT_NEAR(keys.attributes[1].nonempty_bins, 1000, 30);
    EXPECT_NEAR(static_cast<double>(keys.estimated_groups), 3000, 60);
    auto const words = partition_words(keys);
    EXPECT_EQ(words.num_rows, 5000U);
    EXPECT_EQ(words.key_bits, 64U);
    EXPECT_EQ(words.words64()[999], std::uint64_t{999} << 40);
  }
}

TEST(GroupKeys, EmptyAndAllNullColumns) {
  auto const empty = table_of({make_column<std::int32_t>(typed(TypeId::int32), std::vector<std::int32_t>{})});
  EXPECT_EQ(encode(empty).num_rows, 0U);
  auto const nulls = table_of({make_column<std::int32_t>(typed(TypeId::int32), {std::nullopt, std::nullopt})});
  expect_injective_in_every_form(nulls, {0, 0});
}

TEST(GroupKeys, IndicesThatTellValuesApartAreTheWords) {
  auto const words = reference::make_strings({"c", "a", "never", "b"});
  auto const column = reference::make_dictionary({3, 0, 0, 1, 3}, words);
  auto const table = table_of({column});
  auto const keys = encode(table);
  EXPECT_EQ(keys.packed.words, table.view().batch(0).columns[0].data<std::int32_t>());
  EXPECT_EQ(keys.packed.owned_words.size_bytes(), 0);
  EXPECT_EQ(keys.packed.min, 0U);
  EXPECT_EQ(keys.packed.max, 3U);
  EXPECT_EQ(keys.packed.common_low_bits, 0U);
  expect_injective_in_every_form(table, {0, 1, 1, 2, 0});
  // Beside another key, and of several batches with dictionaries of their own.
  auto const number = make_column<std::int16_t>(typed(TypeId::int16), {7, 7, 8, 7, 7});
  expect_injective_in_every_form(table_of({number, column}), {0, 1, 2, 3, 0});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch({column}));
  batches.push_back(
      reference::make_batch({reference::make_dictionary({0, 1, 2}, reference::make_strings({"b", "x", "c"}))}));
  Table const two(Schema{{"k0", column.type, true}}, std::move(batches));
  expect_injective_in_every_form(two, {0, 1, 1, 2, 0, 0, 3, 1});
}

TEST(GroupKeys, IndicesOfValuesThatRepeatAreNumbered) {
  auto const twice = reference::make_strings({"a", "b", "a"});
  auto const table = table_of({reference::make_dictionary({0, 2, 1, 2}, twice)});
  EXPECT_NE(encode(table).packed.owned_words.size_bytes(), 0);
  expect_injective_in_every_form(table, {0, 0, 1, 0});
  auto const nulls = reference::make_strings({"a", std::nullopt, "b"});
  expect_injective_in_every_form(table_of({reference::make_dictionary({0, 1, 2, std::nullopt, 0}, nulls)}),
                                 {0, 1, 2, 1, 0});
}

TEST(GroupKeys, FewNumbersNeedNoSample) {
  std::vector<std::optional<std::int32_t>> indices(kSampledRows + 1, 1);
  auto const few = reference::make_dictionary(indices, reference::make_strings({"a", "b", "c"}));
  auto const table = table_of({few, few});
  auto const keys = encode(table);
  EXPECT_EQ(keys.sampled_rows, 0U);
  EXPECT_EQ(keys.estimated_groups, 9U);
  EXPECT_EQ(keys.attributes[0].nonempty_bins, 3U);
  indices[0].reset();
  EXPECT_GT(encode(table_of({reference::make_dictionary(indices, reference::make_strings({"a", "b"}))})).sampled_rows,
            0U);
}

TEST(ValueDictionary, CodesAreDenseOverManySections) {
  std::vector<std::optional<std::string>> values;
  constexpr std::size_t kRows = 100'000;
  for (std::size_t row = 0; row < kRows; ++row)
    values.push_back(row % 10 == 9
                         ? std::nullopt
                         : std::optional<std::string>(std::string("value ").append(std::to_string(row * 7 % 30'011))));
  auto const table = reference::make_table("s", {reference::make_strings(values)});
  auto const column = open_key_column(table.view(), 0, table.schema()[0].type, {});
  ASSERT_TRUE(column);
  auto const columns = encode_values({&*column, 1}, {});
  ASSERT_TRUE(columns) << columns.error().describe();
  auto const* const codes = &columns->front();
  std::map<std::optional<std::string>, std::uint32_t> code_of;
  std::set<std::uint32_t> seen;
  for (std::size_t row = 0; row < kRows; ++row) {
    auto const code = codes->codes[row];
    if (!values[row]) {
      EXPECT_EQ(code, kNullCode);
      continue;
    }
    auto const [found, is_new] = code_of.emplace(values[row], code);
    ASSERT_EQ(found->second, code);
    if (is_new) {
      ASSERT_TRUE(seen.insert(code).second);
    }
  }
  EXPECT_EQ(seen.size(), codes->num_codes);
  EXPECT_EQ(*seen.rbegin(), codes->num_codes - 1);
}

TEST(ValueDictionary, CanBeCancelled) {
  auto const table = reference::make_table("s", {reference::make_strings({"a"})});
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  auto const column = open_key_column(table.view(), 0, table.schema()[0].type, {});
  ASSERT_TRUE(column);
  auto const codes = encode_values({&*column, 1}, control);
  ASSERT_FALSE(codes);
  EXPECT_EQ(codes.error().code(), ErrorCode::cancelled);
}

/// The outline of a sample, beside that of encoding.
struct Outlines {
  GroupKeyOutline sampled;
  GroupKeyOutline encoded;
  bool is_partial = false;
};

Outlines outlines_of(Table const& table, KeyForm form = KeyForm::automatic) {
  auto keys = sample_group_keys(table.view(), all_columns(table), {});
  EXPECT_TRUE(keys) << keys.error().describe();
  Outlines outlines{keys->outline(form), {}, keys->is_partial()};
  auto const encoded = encode_group_keys(std::move(*keys), form, {});
  EXPECT_TRUE(encoded) << encoded.error().describe();
  outlines.encoded = outline_of(*encoded);
  return outlines;
}

TEST(GroupKeys, ASampleOfAllRowsTellsTheForm) {
  auto const table = table_of({make_column<std::int32_t>(typed(TypeId::int32), {-8, 40, 0, 64, 24}),
                               make_column<std::int64_t>(typed(TypeId::int64), {5, 9, 7, 5, 5})});
  for (auto const form : {KeyForm::automatic, KeyForm::words}) {
    auto const [sampled, encoded, is_partial] = outlines_of(table, form);
    EXPECT_FALSE(is_partial);
    EXPECT_EQ(sampled.is_packed, encoded.is_packed);
    EXPECT_EQ(sampled.key_bits, encoded.key_bits);
    EXPECT_EQ(sampled.num_words, encoded.num_words);
    EXPECT_EQ(sampled.estimated_groups, encoded.estimated_groups);
    EXPECT_GE(sampled.max - sampled.min, encoded.max - encoded.min) << "the product of what each attribute takes";
  }
  auto const [sampled, encoded, is_partial] =
      outlines_of(table_of({make_column<std::int32_t>(typed(TypeId::int32), {-8, 40, 0, 64, 24})}));
  EXPECT_EQ(sampled.max - sampled.min, encoded.max - encoded.min);
  EXPECT_EQ(sampled.common_low_bits, 3U);
  EXPECT_EQ(encoded.common_low_bits, 3U);
  EXPECT_EQ(outlines_of(table_of({make_column<std::int32_t>(typed(TypeId::int32), {})})).sampled.max, 0U);
}

TEST(GroupKeys, ASampleNeverTakesMoreRoomThanAllRows) {
  std::vector<std::int64_t> keys(2 * kSampledRows + 5);
  for (std::size_t row = 0; row < keys.size(); ++row) keys[row] = static_cast<std::int64_t>(mix(row) % 1000 * 16);
  keys[33] = std::int64_t{1} << 40;  // beyond the first run of rows
  keys[34] = 7;
  auto const [sampled, encoded, is_partial] =
      outlines_of(table_of({make_column<std::int64_t>(typed(TypeId::int64), keys)}));
  EXPECT_TRUE(is_partial);
  EXPECT_EQ(sampled.key_bits, 32U);
  EXPECT_EQ(encoded.key_bits, 64U);
  EXPECT_EQ(sampled.max - sampled.min, 999U * 16);
  EXPECT_EQ(sampled.common_low_bits, 4U);
  EXPECT_EQ(encoded.common_low_bits, 0U);
  EXPECT_EQ(sampled.estimated_groups, encoded.estimated_groups);
}

}  // namespace
}  // namespace garuda::keys
