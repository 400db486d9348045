// Conditions on every pair of rows of two tables, by words, against the oracle, by cells.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "expr/condition_columns.hpp"
#include "expr/pair_filter.hpp"
#include "tests/reference/reference_condition.hpp"
#include "tests/workloads/mixed_tables.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::expr {
namespace {

using testing::MixedTable;

/// Two tables and their text.
class Tables {
 public:
  Tables(MixedTable const& left, MixedTable const& right, std::uint64_t seed)
      : left_(left.build(seed)),
        right_(right.build(seed + 1)),
        left_text_(reference::read_table(left_.view())),
        right_text_(reference::read_table(right_.view())) {}

  Schema const& schema() const { return left_.schema(); }

  /// Whether words of either width of rows decide all pairs as the oracle does.
  void expect(Condition const& condition) const {
    auto const resolved = expr::resolve_condition(left_.schema(), right_.schema(), condition);
    ASSERT_TRUE(resolved) << to_string(condition) << ": " << resolved.error().describe();
    auto const encoded = encode_condition(*resolved, left_.view(), right_.view(), {});
    ASSERT_TRUE(encoded) << to_string(condition) << ": " << encoded.error().describe();
    check_form(encoded->condition);
    auto const narrow = passes<std::uint32_t>(encoded->condition);
    EXPECT_EQ(narrow, passes<std::uint64_t>(encoded->condition));
    std::size_t pair = 0;
    for (auto const& left : left_text_.rows)
      for (auto const& right : right_text_.rows) {
        auto const expected = reference::holds(condition, {left_.schema(), left}, {right_.schema(), right});
        ASSERT_EQ(narrow[pair] != 0, expected == true)
            << to_string(condition) << " of rows " << pair / right_text_.rows.size() << ", "
            << pair % right_text_.rows.size();
        ++pair;
      }
  }

 private:
  template <class Row>
  std::vector<std::uint8_t> passes(expr::PairCondition const& condition) const {
    std::vector<Row> left;
    std::vector<Row> right;
    for (Row i = 0; i < left_text_.rows.size(); ++i)
      for (Row j = 0; j < right_text_.rows.size(); ++j) {
        left.push_back(i);
        right.push_back(j);
      }
    std::vector<std::uint8_t> passes(left.size(), 7);
    PairFilter filter(condition);
    filter.test<Row>(left, right, passes);
    return passes;
  }

  /// Checks the promises of encode_condition about operands.
  static void check_form(expr::PairCondition const& condition) {
    using Source = expr::WordOperand::Source;
    for (auto const& comparison : condition.comparisons) {
      EXPECT_NE(comparison.first.source, Source::constant);
      EXPECT_FALSE(comparison.first.source == Source::right && comparison.second.source == Source::left);
    }
  }

  Table left_;
  Table right_;
  reference::TextTable left_text_;
  reference::TextTable right_text_;
};

constexpr Comparator kComparators[] = {Comparator::equal,      Comparator::not_equal, Comparator::less,
                                       Comparator::less_equal, Comparator::greater,   Comparator::greater_equal};

TEST(ConditionWords, ColumnsOfAllTypesThatCompare) {
  Tables const tables({.rows = 23, .batch_rows = 7}, {.rows = 19}, 1);
  auto const names = testing::mixed_columns();
  std::uint64_t pairs = 0;
  for (auto const& left : names)
    for (auto const& right : names) {
      auto const condition = compare(left_column(left), Comparator::less, right_column(right));
      if (!expr::resolve_condition(tables.schema(), tables.schema(), condition)) continue;
      ++pairs;
      if (!testing::takes_case(pairs)) continue;
      for (auto const comparator : kComparators)
        ASSERT_NO_FATAL_FAILURE(tables.expect(compare(left_column(left), comparator, right_column(right))));
    }
  EXPECT_GT(pairs, names.size() * 4);
}

TEST(ConditionWords, ColumnsAndConstants) {
  Tables const tables({.rows = 40, .batch_rows = 16}, {.rows = 3}, 2);
  for (auto const& name : testing::mixed_columns())
    for (auto const& constant : testing::mixed_constants(name))
      for (auto const comparator : kComparators) {
        ASSERT_NO_FATAL_FAILURE(tables.expect(compare(left_column(name), comparator, constant)));
        ASSERT_NO_FATAL_FAILURE(tables.expect(!compare(constant, comparator, right_column(name))));
      }
}

/// Columns of one side with each other, and constants among columns.
TEST(ConditionWords, SeveralComparisonsOfOneEncoding) {
  Tables const tables({.rows = 30, .batch_rows = 11}, {.rows = 31, .batch_rows = 8}, 3);
  for (auto const* text :
       {"left.i8 < left.i32 and right.i64 >= left.i8", "left.text <> right.large or right.large > 'ab'",
        "not (left.text < right.word and right.word < left.view)", "left.d9 < right.d38 and right.d38 <= 0.005",
        "left.i16 = right.f32 or left.i16 = right.i64", "left.second < right.micro and right.micro <> left.second",
        "left.d76 > right.d38 and right.d38 > 1", "left.flag < right.flag", "left.flag = true and right.flag <> true",
        "left.u32 < right.u32", "left.text = right.text and left.text <> 'a'", "left.n < right.n",
        "left.i32 = null or not left.i32 <> null or left.n < 5", "left.zoned <= right.utc"})
    ASSERT_NO_FATAL_FAILURE(tables.expect(parse_condition(text).value()));
}

TEST(ConditionWords, RandomConditions) {
  std::uint64_t const seed = 77;
  RecordProperty("seed", static_cast<int>(seed));
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (!testing::takes_case(i)) continue;
    Tables const tables({.rows = i % 30, .batch_rows = i % 7, .nulls_in_8 = i % 9},
                        {.rows = i % 23, .batch_rows = i % 5}, seed + i);
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(tables.expect(testing::mixed_condition(tables.schema(), 1 + i % 9, seed * i)));
  }
}

std::vector<std::uint32_t> words32(expr::OrderWords const& column) {
  auto const words = std::get<std::span<std::uint32_t const>>(column.words);
  return {words.begin(), words.end()};
}

EncodedCondition encoded(std::string const& text, Table const& left, Table const& right) {
  auto const resolved = expr::resolve_condition(left.schema(), right.schema(), parse_condition(text).value());
  return encode_condition(resolved.value(), left.view(), right.view(), {}).value();
}

TEST(ConditionWords, ColumnsThatAreWordsStayWhereTheyAre) {
  auto const id = [](TypeId type) { return testing::type_of(type); };
  auto const table = testing::TestTable()
                         .add(testing::TestColumn<std::int32_t>{"a", id(TypeId::int32), {5, 0, 7}, {}})
                         .add(testing::TestColumn<std::int32_t>{"negative", id(TypeId::int32), {-5, 0, 7}, {}})
                         .add(testing::TestColumn<std::uint64_t>{"wide", id(TypeId::uint64), {5, 1, 1ULL << 40}, {}})
                         .build();
  auto const in_place = encoded("left.a < right.a and left.wide < right.wide", table, table);
  EXPECT_EQ(in_place.owned_bytes(), 0U);
  EXPECT_EQ(words32(in_place.condition.left[0]), (std::vector<std::uint32_t>{5, 0, 7}));
  auto const moved = encoded("left.a < right.negative", table, table);
  EXPECT_EQ(words32(moved.condition.left[0]), (std::vector<std::uint32_t>{10, 5, 12}));
  EXPECT_EQ(words32(moved.condition.right[0]), (std::vector<std::uint32_t>{0, 5, 12}));
}

TEST(ConditionWords, LongColumnsInBlocks) {
  auto const rows = static_cast<std::size_t>(std::min<std::uint64_t>(testing::max_test_rows(), 200'000));
  std::vector<std::int64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), -100);
  std::vector<bool> valid(rows);
  std::vector<std::string> texts(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    valid[i] = i % 3 != 0;
    texts[i] = "t" + std::to_string((i * 7919) % rows);
  }
  auto const table = testing::TestTable()
                         .add(testing::TestColumn<std::int64_t>{"a", testing::type_of(TypeId::int64), numbers, valid})
                         .add_text("t", texts, valid)
                         .build(70'001);
  auto const condition = encoded("left.a < right.a and left.t > right.t", table, table);
  PairFilter filter(condition.condition);
  std::vector<std::uint32_t> left(rows);
  std::vector<std::uint32_t> right(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    left[i] = static_cast<std::uint32_t>(i);
    right[i] = static_cast<std::uint32_t>((i * 104'729) % rows);
  }
  std::vector<std::uint8_t> passes(rows);
  filter.test<std::uint32_t>(left, right, passes);
  for (std::size_t i = 0; i < rows; ++i) {
    auto const a = left[i];
    auto const b = right[i];
    ASSERT_EQ(passes[i] != 0, valid[a] && valid[b] && numbers[a] < numbers[b] && texts[a] > texts[b]) << i;
  }
}

TEST(ConditionWords, CanBeCancelled) {
  auto const table = MixedTable{.rows = 10}.build(5);
  auto const resolved =
      expr::resolve_condition(table.schema(), table.schema(), parse_condition("left.text < right.text").value());
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  auto const failed = encode_condition(resolved.value(), table.view(), table.view(), control);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::expr
