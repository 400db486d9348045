#include "tests/reference/reference_join.hpp"

#include <gtest/gtest.h>

#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::reference {
namespace {

TEST(ReferenceJoin, PairsCountAndMarks) {
  Keys const left{{5, 7, 5, 9}, {true, true, true, false}};
  Keys const right{{9, 5, 5, 8}, {}};
  std::vector<RowPair64> const expected{{0, 1}, {0, 2}, {2, 1}, {2, 2}};
  EXPECT_EQ(reference_join(left, right), expected);
  EXPECT_EQ(reference_count(left, right), 4U);
  EXPECT_EQ(reference_mark(left, right, Side::left), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(reference_mark(left, right, Side::right), (std::vector<bool>{false, true, true, false}));
}

TEST(ReferenceJoin, TablesInOrderWithNamesAndNulls) {
  Table const left({{"k", typed(TypeId::int32), true}, {"v", typed(TypeId::utf8), true}}, [] {
    std::vector<Batch> batches;
    batches.push_back(
        make_batch({make_column<std::int32_t>(typed(TypeId::int32), {2, std::nullopt}, 3), make_strings({"a", "b"})}));
    batches.push_back(
        make_batch({make_column<std::int32_t>(typed(TypeId::int32), {-1, 2}), make_strings({std::nullopt, "d"})}));
    return batches;
  }());
  Table const right({{"v", typed(TypeId::int8), true}, {"id", typed(TypeId::int64), true}}, [] {
    std::vector<Batch> batches;
    batches.push_back(make_batch({make_column<std::int8_t>(typed(TypeId::int8), {std::nullopt, 11, 12}),
                                  make_column<std::int64_t>(typed(TypeId::int64), {-1, 2, std::nullopt})}));
    return batches;
  }());
  JoinSpec spec;
  spec.on = {{"k", "id"}};
  auto const joined = reference_join_table(left.view(), right.view(), spec);
  EXPECT_EQ(joined.names, (std::vector<std::string>{"k", "v", "v_right"}));
  EXPECT_EQ(joined.rows,
            (std::vector<std::vector<Cell>>{{"2", "a", "11"}, {"-1", std::nullopt, std::nullopt}, {"2", "d", "11"}}));
  spec.columns = {{Side::right, "v"}, {Side::left, "k"}};
  auto const chosen = reference_join_table(left.view(), right.view(), spec);
  EXPECT_EQ(chosen.names, (std::vector<std::string>{"v", "k"}));
  EXPECT_EQ(sorted(chosen).rows, (std::vector<std::vector<Cell>>{{std::nullopt, "-1"}, {"11", "2"}, {"11", "2"}}));
}

TEST(ReferenceJoin, DecimalsOf128BitsAsText) {
  auto const column =
      make_column<Decimal128>(typed(TypeId::decimal128),
                              {Decimal128{static_cast<std::uint64_t>(-120), -1}, Decimal128{0, 1}, Decimal128{0, 0}});
  auto const text = read_table(make_table("d", {column}).view());
  EXPECT_EQ(text.rows, (std::vector<std::vector<Cell>>{{"-120"}, {"18446744073709551616"}, {"0"}}));
}

}  // namespace
}  // namespace garuda::reference
