// Numbers of rows of tables that are cut into parts, against a sort of all rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/unwrap.hpp"

namespace garuda {
namespace {

using Integers = std::vector<std::optional<std::int64_t>>;

struct PartitionedRows {
  std::size_t rows;
  std::int64_t partitions;
  std::int64_t keys;
};

class NumberedRows : public testing::EngineTest {
 protected:
  static Integers drawn(std::mt19937_64& random, std::size_t rows, std::int64_t values) {
    std::uniform_int_distribution<std::int64_t> draw(-1, values - 1);
    Integers column(rows);
    for (auto& value : column)
      if (auto const number = draw(random); number >= 0) value = number;
    return column;
  }

  /// Ascending, nulls last.
  static std::tuple<bool, std::int64_t> order_of(std::optional<std::int64_t> value) {
    return {!value, value.value_or(0)};
  }

  /// By two columns of a partition, a key that descends, and what breaks ties.
  static std::vector<std::int64_t> expected(std::vector<Integers> const& columns) {
    auto const rows = columns[0].size();
    auto const partition_of = [&](std::size_t row) {
      return std::tuple(order_of(columns[0][row]), order_of(columns[1][row]));
    };
    auto const all_of = [&](std::size_t row) {
      auto const key = columns[2][row];
      return std::tuple(partition_of(row), std::tuple(!key, key ? -*key : 0), order_of(columns[3][row]), row);
    };
    std::vector<std::size_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, all_of);
    std::vector<std::int64_t> numbers(rows);
    for (std::size_t i = 0; i < rows; ++i)
      numbers[order[i]] = i > 0 && partition_of(order[i - 1]) == partition_of(order[i]) ? numbers[order[i - 1]] + 1 : 1;
    return numbers;
  }

  static void check(PartitionedRows const& shape) {
    SCOPED_TRACE(std::to_string(shape.rows) + " rows, " + std::to_string(shape.partitions) + " partitions, " +
                 std::to_string(shape.keys) + " keys");
    std::mt19937_64 random(shape.rows + static_cast<std::uint64_t>(shape.partitions));
    std::vector<Integers> const columns{drawn(random, shape.rows, shape.partitions), drawn(random, shape.rows, 2),
                                        drawn(random, shape.rows, shape.keys), drawn(random, shape.rows, 3)};
    std::vector<reference::Column> made;
    Schema schema;
    for (auto const* name : {"p", "q", "k", "t"}) {
      made.push_back(reference::make_column<std::int64_t>({TypeId::int64}, columns[made.size()], 0));
      schema.push_back({name, {TypeId::int64}, true});
    }
    std::vector<Batch> batches;
    batches.push_back(reference::make_batch(made));
    Table const table(std::move(schema), std::move(batches));
    for (std::uint32_t const threads : {1U, 3U}) {
      QueryOptions options;
      options.threads = threads;
      auto const query = Query::scan(table.view())
                             .number_rows("n", {column("p"), column("q")}, {{column("k"), true}})
                             .project({{"n", column("n")}});
      auto const result = testing::value_of(engine().run(query, options));
      auto const numbered = testing::value_of(collect(*result));
      std::vector<std::int64_t> found;
      for (auto const& row : reference::read_table(numbered.view()).rows) found.push_back(std::stoll(row[0].value()));
      EXPECT_EQ(found, expected(columns));
    }
  }
};

TEST_F(NumberedRows, AreThoseOfASortOfAllRows) {
  for (PartitionedRows const& shape :
       {PartitionedRows{1, 1, 1}, PartitionedRows{300, 20, 4}, PartitionedRows{20'000, 5'000, 3},
        PartitionedRows{50'000, 100, 1'000'000}, PartitionedRows{150'000, 1, 70'000}, PartitionedRows{150'000, 1, 1}})
    check(shape);
}

}  // namespace
}  // namespace garuda
