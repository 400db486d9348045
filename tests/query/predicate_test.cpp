// Conditions of rows, conjunct by conjunct, against the whole expression.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "expr/columns.hpp"
#include "operators/pipeline/predicate.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::pipeline {
namespace {

using expr::Expression;
using expr::Function;
using reference::typed;

constexpr std::size_t kColumns = 4;

/// Integers, wide decimals, texts and a dictionary of texts, with nulls or without.
Table random_table(std::size_t rows, bool has_nulls, std::mt19937_64& random) {
  std::vector<std::optional<std::int64_t>> numbers(rows);
  std::vector<std::optional<std::string>> texts(rows);
  std::vector<std::optional<std::int32_t>> codes(rows);
  std::vector<std::optional<reference::Decimal128>> decimals(rows);
  auto const is_null = [&] { return has_nulls && random() % 7 == 0; };
  for (std::size_t i = 0; i < rows; ++i) {
    if (!is_null()) numbers[i] = static_cast<std::int64_t>(random() % 100);
    if (!is_null()) texts[i] = std::string(random() % 20, 'x') + std::to_string(random() % 10);
    if (!is_null()) codes[i] = static_cast<std::int32_t>(random() % 3);
    if (!is_null()) decimals[i] = reference::Decimal128{random() % 100, 0};
  }
  DataType decimal = typed(TypeId::decimal128);
  decimal.precision = 20;
  std::vector<reference::Column> const columns{
      reference::make_column<std::int64_t>(typed(TypeId::int64), numbers, 3),
      reference::make_column<reference::Decimal128>(decimal, decimals, 1), reference::make_strings(texts),
      reference::make_dictionary(codes, reference::make_strings({"a", "bb", "ccc"}))};
  Schema schema;
  for (std::size_t c = 0; c < kColumns; ++c) schema.push_back({"c" + std::to_string(c), columns[c].type, true});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return {std::move(schema), std::move(batches)};
}

Chunk chunk_of(Table const& table) {
  auto const& batch = table.batches()[0];
  Chunk chunk{static_cast<std::uint64_t>(batch.num_rows), {}, std::vector<ChunkColumn>(kColumns)};
  for (std::size_t c = 0; c < kColumns; ++c) chunk.columns[c] = {&table.schema()[c], batch.columns[c], batch.owner};
  return chunk;
}

Expression column_of(Table const& table, std::size_t c) {
  auto const& type = table.schema()[c].type;
  return expr::column(c, type.id == TypeId::dictionary ? *type.value : type, table.schema()[c].name);
}

/// A comparison of a column with a constant; of the first one, at times, with a quotient that fails for zero.
Expression random_conjunct(Table const& table, std::mt19937_64& random) {
  auto const c = random() % (kColumns + 1);
  auto const comparator = random() % 2 == 0 ? Comparator::less : Comparator::not_equal;
  auto const value = static_cast<std::int64_t>(random() % 110);
  if (c == kColumns) {
    auto const number = column_of(table, 0);
    auto const whole = *expr::constant(std::int64_t{1'000}, number.type);
    auto const quotient = *expr::call(Function::divide, {whole, number});
    return *expr::compare(quotient, Comparator::less, *expr::constant(value, number.type));
  }
  auto const of = column_of(table, c);
  if (c < 2)
    return *expr::compare(of, comparator,
                          *expr::constant(c == 0 ? expr::Scalar(value) : expr::Scalar(Int128{value}), of.type));
  auto const text = std::string(random() % 12, 'x') + (c == 3 ? "bb" : "5");
  return *expr::compare(of, comparator, *expr::constant(text, of.type));
}

/// The rows for which `is_true` of an expression is true; an error's sentence in place of them.
std::pair<std::vector<std::int64_t>, std::string> expected(Expression const& expression, Chunk const& chunk) {
  auto const program = SlotProgram::create(*expr::call(Function::is_true, {expression}), expr::Nulls::kept);
  std::vector<std::int64_t> rows;
  auto run = SlotProgram::Run::create(**program, chunk);
  for (std::uint64_t row = 0; row < chunk.num_rows; ++row) {
    auto const value = run->values(row, 1);
    if (!value) return {{}, value.error().describe()};
    if (*value->as<std::uint8_t>() != 0) rows.push_back(static_cast<std::int64_t>(row));
  }
  return {rows, {}};
}

TEST(Predicates, PassTheRowsOfTheWholeExpression) {
  std::mt19937_64 random(5);
  std::size_t failed = 0;
  std::size_t passed = 0;
  for (std::size_t const rows : {0, 1, 1'023, 1'024, 1'025, 3'000})
    for (std::size_t round = 0; round < 40; ++round) {
      auto const table = random_table(rows, round % 2 == 0, random);
      auto const chunk = chunk_of(table);
      auto expression = random_conjunct(table, random);
      for (auto more = random() % 4; more > 0; --more)
        expression = *expr::call(Function::all, {expression, random_conjunct(table, random)});
      auto const predicate = Predicate::create(expression);
      ASSERT_TRUE(predicate.has_value());
      auto const passing = (*predicate)->passing(chunk);
      auto const [wanted, error] = expected(expression, chunk);
      // A row for which a conjunct is null asks for no later one, so that fewer rows fail than in the whole expression.
      if (!passing) {
        ++failed;
        EXPECT_EQ(passing.error().describe(), error) << to_string(expression);
        continue;
      }
      if (!error.empty()) continue;
      passed += passing->size();
      EXPECT_EQ(std::vector<std::int64_t>(passing->begin(), passing->end()), wanted) << to_string(expression);
    }
  EXPECT_GT(failed, 10U);
  EXPECT_GT(passed, 1'000U);
}

TEST(Predicates, CheapConjunctsLeaveAnyShareOfABlock) {
  std::mt19937_64 random(6);
  for (std::size_t const rows : {1, 7, 8, 9, 64, 1'023, 1'024, 1'025, 2'055}) {
    auto const table = random_table(rows, rows % 2 == 0, random);
    auto const chunk = chunk_of(table);
    auto const less = [&](std::size_t c, std::int64_t value) {
      auto const of = column_of(table, c);
      auto const constant = c == 0 ? expr::Scalar(value) : expr::Scalar(Int128{value});
      return *expr::compare(of, Comparator::less, *expr::constant(constant, of.type));
    };
    // All rows, most, one in five, one in twenty, and none.
    for (std::int64_t const first : {100, 90, 20, 5, 0})
      for (std::int64_t const second : {100, 90, 20, 5, 0}) {
        auto const text = *expr::compare(column_of(table, 2), Comparator::not_equal,
                                         *expr::constant(std::string("5"), column_of(table, 2).type));
        auto const numbers = *expr::call(Function::all, {less(0, first), less(1, second)});
        for (auto const& expression : {numbers, *expr::call(Function::all, {numbers, text})}) {
          auto const predicate = Predicate::create(expression);
          ASSERT_TRUE(predicate.has_value());
          auto const passing = (*predicate)->passing(chunk);
          ASSERT_TRUE(passing.has_value());
          EXPECT_EQ(std::vector<std::int64_t>(passing->begin(), passing->end()), expected(expression, chunk).first)
              << rows << " " << to_string(expression);
        }
      }
  }
}

}  // namespace
}  // namespace garuda::pipeline
