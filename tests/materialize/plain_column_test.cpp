#include "operators/materialize/column_bytes.hpp"

#include <gtest/gtest.h>

#include "tests/workloads/tables.hpp"

namespace garuda::materialize {
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

TEST(PlainColumn, IsFixedWidthWithoutNulls) {
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

}  // namespace
}  // namespace garuda::materialize
