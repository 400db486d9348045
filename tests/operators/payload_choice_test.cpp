#include "operators/payload_choice.hpp"

#include <gtest/gtest.h>

#include "tests/operators/tables.hpp"

namespace garuda::operators {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

Table make_table() {
  return TestTable()
      .add(TestColumn<std::int32_t>{"key", type_of(TypeId::int32), {1, 2, 3}, {}})
      .add(TestColumn<std::int64_t>{"plain", type_of(TypeId::int64), {1, 2, 3}, {}})
      .add(TestColumn<std::int32_t>{"all_valid", type_of(TypeId::int32), {1, 2, 3}, {true, true, true}})
      .add(TestColumn<std::int32_t>{"null", type_of(TypeId::int32), {1, 2, 3}, {true, false, true}})
      .add(TestColumn<std::uint8_t>{"boolean", type_of(TypeId::boolean), {1, 1, 1}, {}})
      .build(2);
}

TEST(PayloadChoice, PlainColumnsAreFixedWidthWithoutNulls) {
  auto const table = make_table();
  std::vector<bool> plain;
  for (std::size_t c = 0; c < 5; ++c) plain.push_back(is_plain(table.view(), c));
  EXPECT_EQ(plain, (std::vector<bool>{true, true, true, false, false}));
  auto const column = payload_column(table.view(), 1);
  EXPECT_EQ(column.width, 8U);
  ASSERT_EQ(column.parts.size(), 2U);
  EXPECT_EQ(column.parts[1].first_row, 2U);
  EXPECT_EQ(*reinterpret_cast<std::int64_t const*>(column.parts[1].values), 3);
}

TEST(PayloadChoice, CarriesEachPlainColumnOnceButNotTheKey) {
  auto const table = make_table();
  ResolvedJoin columns;
  columns.left_key = 0;
  columns.output = {{Side::left, 3}, {Side::left, 2}, {Side::right, 4},
                    {Side::left, 0}, {Side::left, 2}, {Side::left, 1}};
  PayloadShape const shape{3, 4, 3};
  EXPECT_EQ(carried_columns(table.view(), columns, Side::left, shape, Payload::carry),
            (std::vector<std::size_t>{2, 1}));
  EXPECT_TRUE(carried_columns(table.view(), columns, Side::right, shape, Payload::carry).empty());
  EXPECT_TRUE(carried_columns(table.view(), columns, Side::left, shape, Payload::gather).empty());
  EXPECT_EQ(row_bytes_of(table.view(), {2, 1}), 12U);
}

TEST(PayloadChoice, CarryingPaysForLargeColumnsThatMostRowsNeed) {
  EXPECT_TRUE(carrying_pays({16'000'000, 4, 16e6}, 4));
  EXPECT_TRUE(carrying_pays({16'000'000, 8, 64e6}, 16));
  // Few rows match.
  EXPECT_FALSE(carrying_pays({64'000'000, 4, 2e6}, 4));
  // The column stays in the cache.
  EXPECT_FALSE(carrying_pays({100'000, 4, 1e5}, 4));
}

}  // namespace
}  // namespace garuda::operators
