// Keys of several columns and of types that are widened or numbered: words are equal just where keys are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "keys/join_keys.hpp"
#include "tests/keys/encoded_words.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::Decimal128;
using reference::make_column;
using reference::make_table;
using reference::timed;
using reference::typed;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Columns of one kind of value in many types: which values are equal is known by their numbers.
struct SameValues {
  std::vector<Column> columns;
};

template <class T>
Column numbers(DataType type, std::vector<int> const& values, std::int64_t factor = 1) {
  std::vector<std::optional<T>> converted;
  for (auto const value : values)
    converted.push_back(value == 99 ? std::nullopt : std::optional(static_cast<T>(value * factor)));
  return make_column<T>(std::move(type), converted, static_cast<std::int64_t>(values.size() % 3));
}

std::vector<SameValues> columns_of(std::vector<int> const& values) {
  std::vector<std::optional<std::string>> texts;
  std::vector<std::optional<std::int32_t>> places;
  std::vector<std::optional<std::string>> words;
  for (int i = 0; i < 40; ++i) words.push_back(std::string("a rather long word ") + std::to_string(39 - i));
  for (auto const value : values) {
    texts.push_back(value == 99 ? std::nullopt : std::optional("a rather long word " + std::to_string(value)));
    places.push_back(value == 99 ? std::nullopt : std::optional(39 - value));
  }
  auto const integers = make_column<std::int8_t>(typed(TypeId::int8), std::vector<std::int8_t>{3, 2, 1, 0});
  std::vector<std::optional<std::int32_t>> few;
  for (auto const value : values) few.push_back(value == 99 || value > 3 ? std::nullopt : std::optional(3 - value));
  using enum TimeUnit;
  return {{{numbers<std::int8_t>(typed(TypeId::int8), values), numbers<std::uint32_t>(typed(TypeId::uint32), values),
            numbers<std::int64_t>(typed(TypeId::int64), values),
            numbers<std::int64_t>(typed(TypeId::decimal64, 12, 2), values, 100),
            numbers<std::int32_t>(typed(TypeId::decimal32, 9, 1), values, 10)}},
          {{numbers<std::int16_t>(typed(TypeId::int16), values), numbers<float>(typed(TypeId::float32), values),
            numbers<double>(typed(TypeId::float64), values)}},
          {{numbers<std::int32_t>(typed(TypeId::date32), values),
            numbers<std::int64_t>(typed(TypeId::date64), values, 86'400'000)}},
          {{numbers<std::int32_t>(timed(TypeId::time32, second), values),
            numbers<std::int64_t>(timed(TypeId::time64, microsecond), values, 1'000'000)}},
          {{numbers<std::int64_t>(timed(TypeId::timestamp, second, "UTC"), values),
            numbers<std::int64_t>(timed(TypeId::timestamp, nanosecond, "Asia/Tokyo"), values, 1'000'000'000)}},
          {{reference::make_strings(texts), reference::make_dictionary(places, reference::make_strings(words))}}};
}

/// The words of two tables, nulls left out or not, are equal just where the keys are.
void expect_exact(std::vector<Column> const& left, std::vector<Column> const& right, std::vector<std::vector<int>> keys,
                  std::vector<std::vector<int>> other_keys, NullKeys nulls, std::uint32_t hash_bits) {
  auto const table_of = [](std::vector<Column> const& columns) {
    Schema schema;
    for (std::size_t c = 0; c < columns.size(); ++c) schema.push_back({"k" + std::to_string(c), columns[c].type, true});
    std::vector<Batch> batches;
    batches.push_back(reference::make_batch(columns));
    return Table(std::move(schema), std::move(batches));
  };
  std::vector<std::size_t> positions(left.size());
  for (std::size_t c = 0; c < left.size(); ++c) positions[c] = c;
  auto const left_table = table_of(left);
  auto const right_table = table_of(right);
  auto const encoded =
      encode_join_keys({left_table.view(), positions}, {right_table.view(), positions}, {}, nulls, hash_bits);
  ASSERT_TRUE(encoded) << encoded.error().describe();
  expect_statistics(encoded->left, left.size());
  expect_statistics(encoded->right, right.size());
  std::map<std::vector<int>, std::uint64_t> word_of;
  std::map<std::uint64_t, std::vector<int>> key_of;
  for (auto const& [words, rows] : {std::pair{&encoded->left, &keys}, std::pair{&encoded->right, &other_keys}}) {
    std::uint64_t next = 0;
    for (std::uint64_t row = 0; row < rows->size(); ++row) {
      auto const& key = (*rows)[row];
      if (nulls == NullKeys::left_out && std::find(key.begin(), key.end(), 99) != key.end()) continue;
      ASSERT_LT(next, words->num_rows);
      ASSERT_EQ(row_at(*words, next), row);
      auto const word = word_at(*words, next++);
      ASSERT_EQ(word_of.emplace(key, word).first->second, word);
      ASSERT_EQ(key_of.emplace(word, key).first->second, key);
    }
    EXPECT_EQ(next, words->num_rows);
  }
}

TEST(SeveralKeys, AreEqualWhereAllValuesAre) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto const num_keys = 1 + random() % 4;
    std::vector<std::vector<int>> keys(random() % 60, std::vector<int>(num_keys));
    std::vector<std::vector<int>> other_keys(random() % 60, std::vector<int>(num_keys));
    std::vector<Column> left;
    std::vector<Column> right;
    for (std::size_t k = 0; k < num_keys; ++k) {
      std::vector<int> values;
      std::vector<int> other_values;
      auto const draw = [&] { return random() % 7 == 0 ? 99 : static_cast<int>(random() % 5); };
      for (auto& key : keys) values.push_back(key[k] = draw());
      for (auto& key : other_keys) other_values.push_back(key[k] = draw());
      auto const kind = random() % 6;
      auto const lefts = columns_of(values)[kind].columns;
      auto const rights = columns_of(other_values)[kind].columns;
      left.push_back(lefts[random() % lefts.size()]);
      right.push_back(rights[random() % rights.size()]);
    }
    for (auto const hash_bits : {64U, 4U})
      for (auto const nulls : {NullKeys::left_out, NullKeys::kept})
        expect_exact(left, right, keys, other_keys, nulls, hash_bits);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Three wide columns take more than 64 bits, so that their keys are numbered, by many sections of hashes.
TEST(SeveralKeys, OfMoreThan64BitsAreNumbered) {
  for (auto const& [rows, hash_bits] : {std::pair{80'000U, 64U}, std::pair{3'000U, 4U}, std::pair{40'000U, 7U}}) {
    std::mt19937_64 random(rows);
    std::vector<Column> sides[2];
    std::vector<std::vector<std::uint64_t>> keys[2];
    for (auto const side : {0, 1}) {
      std::vector<std::vector<std::uint64_t>> columns(3);
      for (std::uint32_t row = 0; row < rows; ++row) {
        auto const drawn = random() % rows;
        for (std::uint64_t c = 0; c < 3; ++c) columns[c].push_back(drawn * (c + 1) << 40);
        keys[side].push_back({columns[0][row], columns[1][row], columns[2][row]});
      }
      for (auto const& column : columns)
        sides[side].push_back(make_column<std::uint64_t>(typed(TypeId::uint64), column, 1));
    }
    Schema const schema{
        {"a", typed(TypeId::uint64), false}, {"b", typed(TypeId::uint64), false}, {"c", typed(TypeId::uint64), false}};
    auto const table_of = [&](std::vector<Column> const& columns) {
      std::vector<Batch> batches;
      batches.push_back(reference::make_batch(columns));
      return Table(schema, std::move(batches));
    };
    auto const left = table_of(sides[0]);
    auto const right = table_of(sides[1]);
    auto const encoded =
        encode_join_keys({left.view(), {0, 1, 2}}, {right.view(), {0, 1, 2}}, {}, NullKeys::left_out, hash_bits);
    ASSERT_TRUE(encoded) << encoded.error().describe();
    EXPECT_TRUE(encoded->is_numbered);
    EXPECT_FALSE(encoded->base);
    EXPECT_EQ(encoded->left.key_bits, 32U);
    std::map<std::vector<std::uint64_t>, std::uint64_t> word_of;
    for (auto const side : {0, 1})
      for (std::uint32_t row = 0; row < rows; ++row) {
        auto const word = word_at(side == 0 ? encoded->left : encoded->right, row);
        ASSERT_EQ(word_of.emplace(keys[side][row], word).first->second, word);
      }
    std::set<std::uint64_t> words;
    for (auto const& [key, word] : word_of) ASSERT_TRUE(words.insert(word).second);
  }
}

TEST(SeveralKeys, ValuesBeyondTheFinerUnitStillCompare) {
  auto const most = std::numeric_limits<std::int64_t>::max();
  auto const seconds =
      make_column<std::int64_t>(timed(TypeId::timestamp, TimeUnit::second), std::vector<std::int64_t>{most, 5, -most});
  auto const nanoseconds = make_column<std::int64_t>(timed(TypeId::timestamp, TimeUnit::nanosecond),
                                                     std::vector<std::int64_t>{5'000'000'000, most, -1});
  auto const keys = encode_first(seconds, nanoseconds);
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_FALSE(keys->base);
  auto const left = keys->left.words32();
  auto const right = keys->right.words32();
  EXPECT_EQ(left[1], right[0]);
  EXPECT_EQ((std::set<std::uint32_t>{left[0], left[1], left[2], right[1], right[2]}).size(), 5U);
}

TEST(SeveralKeys, DecimalsBeyondTheirPrecisionAreRefused) {
  auto const wrong = make_column(typed(TypeId::decimal128, 20, 0),
                                 std::vector<std::optional<Decimal128>>{Decimal128{1, 0}, Decimal128{0, 1LL << 62}});
  auto const other = make_column<std::int64_t>(typed(TypeId::decimal64, 12, 2), std::vector<std::int64_t>{100});
  auto const keys = encode_first(wrong, other);
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(keys.error().describe(), AllOf(HasSubstr("'l'"), HasSubstr("row 1")));
}

}  // namespace
}  // namespace garuda::keys
