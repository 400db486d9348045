// The first rows of an order, against those of the whole order.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda {
namespace {

using reference::typed;

template <class T>
using Values = std::vector<std::optional<T>>;

/// Edges and random values, one in six null.
template <class T, class Random>
Values<T> values(std::size_t count, std::vector<T> const& edges, std::mt19937_64& random, Random const& value) {
  Values<T> all(count);
  for (auto& v : all)
    if (random() % 6 != 0) v = random() % 5 == 0 ? edges[random() % edges.size()] : value();
  return all;
}

Batch batch_of(std::size_t rows, Schema& schema, std::mt19937_64& random) {
  using Floats = std::numeric_limits<double>;
  using Integers = std::numeric_limits<std::int64_t>;
  DataType decimal = typed(TypeId::decimal128);
  decimal.precision = 38;
  std::vector<reference::Column> columns;
  columns.push_back(
      reference::make_column<std::int64_t>(typed(TypeId::int64),
                                           values<std::int64_t>(rows, {Integers::min(), -1, 0, Integers::max()}, random,
                                                                [&] { return static_cast<std::int64_t>(random()); }),
                                           0));
  columns.push_back(reference::make_column<std::uint64_t>(
      typed(TypeId::uint64), values<std::uint64_t>(rows, {0, 1, ~0ULL}, random, [&] { return random(); }), 0));
  columns.push_back(reference::make_column<double>(
      typed(TypeId::float64),
      values<double>(rows,
                     {-0.0, 0.0, Floats::quiet_NaN(), -Floats::infinity(), Floats::infinity(), Floats::denorm_min()},
                     random, [&] { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -60); }),
      0));
  columns.push_back(reference::make_column<reference::Decimal128>(
      decimal,
      values<reference::Decimal128>(
          rows, {{0, Integers::min() / 4}, {0, 0}, {5, 1}, {~0ULL, -1}}, random,
          [&] {
            return reference::Decimal128{random(), static_cast<std::int64_t>(random() % 3) - 1};
          }),
      0));
  columns.push_back(reference::make_strings(
      values<std::string>(rows, {"", "aaaaaaaa", "aaaaaaaab", std::string(1, '\0'), "\xC3\xA4"}, random,
                          [&] { return std::string(1 + random() % 12, static_cast<char>('a' + random() % 3)); })));
  columns.push_back(reference::make_booleans(values<bool>(rows, {false, true}, random, [] { return true; })));
  schema.clear();
  for (std::size_t c = 0; c < columns.size(); ++c) schema.push_back({"c" + std::to_string(c), columns[c].type, true});
  return reference::make_batch(columns);
}

class TopRows : public testing::EngineTest {
 protected:
  static std::vector<std::vector<std::optional<std::string>>> rows_of(Query const& query) {
    auto const result = engine().run(query, {});
    EXPECT_TRUE(result.has_value());
    auto const table = collect(**result);
    EXPECT_TRUE(table.has_value());
    return reference::read_table(table->view()).rows;
  }
};

TEST_F(TopRows, AreTheFirstOfTheWholeOrder) {
  std::mt19937_64 random(3);
  Schema schema;
  std::vector<Batch> batches;
  for (std::size_t const rows : {9'000, 0, 1, 20'000}) batches.push_back(batch_of(rows, schema, random));
  Table const table(schema, std::move(batches));
  auto const scanned = Query::scan(table.view()).filter(call("is_not_null", {column("c1")}));
  for (std::size_t c = 0; c < schema.size(); ++c)
    for (bool const descending : {false, true})
      for (bool const nulls_first : {false, true}) {
        auto const sorted = scanned.sort({{column(schema[c].name), descending, nulls_first}});
        auto const all = rows_of(sorted);
        ASSERT_GT(all.size(), 20'000U);
        for (std::size_t const count : {1, 10, 4'000})
          for (std::size_t const offset : {0, 7}) {
            auto const top = rows_of(sorted.limit(count, offset));
            auto const first = all.begin() + static_cast<std::ptrdiff_t>(offset);
            EXPECT_EQ(top, (decltype(all)(first, first + static_cast<std::ptrdiff_t>(count))))
                << schema[c].name << descending << nulls_first << " " << count << " behind " << offset;
          }
      }
}

}  // namespace
}  // namespace garuda
