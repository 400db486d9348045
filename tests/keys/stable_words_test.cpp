// Words of keys that come table by table: equal just where the keys are, whichever table has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "keys/stable_words.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::make_column;
using reference::typed;

constexpr std::size_t kKeyedRows = 60;

template <class T>
Column random_numbers(DataType type, std::vector<T> const& values, std::mt19937_64& random) {
  std::vector<std::optional<T>> drawn(kKeyedRows);
  for (auto& value : drawn)
    if (random() % 5 != 0) value = values[random() % values.size()];
  return make_column<T>(std::move(type), drawn, static_cast<std::int64_t>(random() % 3));
}

Column random_texts(std::mt19937_64& random) {
  // Around the length up to which a value stands in its words, and texts that only zeros at their ends tell apart.
  std::vector<std::string> const values{"",
                                        "a",
                                        std::string("a\0", 2),
                                        "12345678",
                                        "123456789",
                                        "123456789012",
                                        "12",
                                        "1234567890123",
                                        "1234567890124",
                                        std::string("12345678901\0", 12),
                                        std::string(12, '\0')};
  std::vector<std::optional<std::string>> drawn(kKeyedRows);
  for (auto& value : drawn)
    if (random() % 5 != 0) value = values[random() % values.size()];
  return reference::make_strings(drawn);
}

Table table_of_columns(std::vector<Column> const& columns) {
  Schema schema;
  for (std::size_t c = 0; c < columns.size(); ++c) schema.push_back({"c" + std::to_string(c), columns[c].type, true});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return {std::move(schema), std::move(batches)};
}

std::vector<Column> random_columns(std::mt19937_64& random) {
  using reference::Decimal128;
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  auto decimal = typed(TypeId::decimal128);
  decimal.precision = 38;
  return {random_numbers<std::int32_t>(typed(TypeId::int32), {0, -1, 1, INT32_MIN, INT32_MAX}, random),
          random_numbers<std::uint64_t>(typed(TypeId::uint64), {0, 1, UINT64_MAX, 1ULL << 62}, random),
          random_numbers<std::int64_t>(typed(TypeId::int64), {0, INT64_MIN, INT64_MAX}, random),
          random_numbers<double>(typed(TypeId::float64), {0.0, -0.0, nan, -nan, 1.5}, random),
          random_numbers<float>(typed(TypeId::float32), {0.0F, -0.0F, NAN, 1.5F}, random),
          random_numbers<Decimal128>(decimal, {{0, 0}, {1, 0}, {0, 1}, {~0ULL, -1}}, random),
          random_texts(random)};
}

TEST(StableWords, AreEqualJustWhereKeysAre) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto const first = table_of_columns(random_columns(random));
    auto const second = table_of_columns(random_columns(random));
    // One to three of the columns are keys.
    std::vector<std::size_t> columns(first.schema().size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    std::ranges::shuffle(columns, random);
    columns.resize(1 + random() % 3);
    std::vector<DataType> types;
    for (auto const column : columns) types.push_back(first.schema()[column].type);
    // Whatever is said of how long values mostly are.
    StableWords words(types, random() % 2 == 0 ? 0 : ~std::uint64_t{0});
    std::vector<std::vector<std::uint64_t>> rows;
    std::vector<std::vector<reference::Cell>> keys;
    for (auto const* const table : {&first, &second}) {
      ASSERT_TRUE(words.write(table->view(), columns));
      auto const cells = reference::read_table(table->view());
      for (std::size_t i = 0; i < kKeyedRows; ++i) {
        auto& row = rows.emplace_back();
        for (auto const* const word : words.words()) row.push_back(word[i]);
        auto& key = keys.emplace_back();
        for (auto const column : columns)
          key.push_back(reference::key_text(first.schema()[column].type, cells.rows[i][column]));
      }
    }
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = 0; b < rows.size(); ++b) ASSERT_EQ(rows[a] == rows[b], keys[a] == keys[b]) << a << " " << b;
  }
}

}  // namespace
}  // namespace garuda::keys
