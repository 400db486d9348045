// Parts over dictionaries against the expressions that they are parts of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/type_rows.hpp"
#include "expr/columns.hpp"
#include "expr/dictionary_parts.hpp"
#include "expr/evaluator.hpp"
#include "tests/expr/random_trees.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/column_reader.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/test_run.hpp"
#include "tests/unwrap.hpp"

namespace garuda::expr {
namespace {

using testing::value_of;

/// A table with two columns of each type of random trees; those of texts and of int16 have dictionaries.
Table random_table(Trees& random, std::vector<std::int64_t> const& batch_rows) {
  Schema schema;
  for (std::size_t c = 0; c < 2 * tree_types().size(); ++c) {
    auto const& type = tree_types()[c % tree_types().size()];
    bool const has_dictionary = is_text(type.id) || type.id == TypeId::int16;
    schema.push_back({"c" + std::to_string(c), has_dictionary ? reference::dictionary_of(type) : type});
  }
  std::vector<Batch> batches;
  for (auto const rows : batch_rows) {
    auto owners = std::make_shared<std::vector<std::shared_ptr<void const>>>();
    Batch batch{rows, {}, owners};
    for (std::size_t c = 0; c < schema.size(); ++c) {
      auto const& type = tree_types()[c % tree_types().size()];
      bool const has_nulls = c < tree_types().size();
      auto const count = schema[c].type.id == TypeId::dictionary ? std::size_t{5} : static_cast<std::size_t>(rows);
      RandomColumn const column(type, count, has_nulls && count != 5, random);
      ColumnWriter writer(type);
      testing::succeed(writer.append(column.vector, count));
      auto written = writer.finish();
      reference::Column made{type, written.array, written.owner};
      if (schema[c].type.id == TypeId::dictionary) {
        std::vector<std::optional<std::int32_t>> indices;
        for (std::int64_t i = 0; i < rows; ++i)
          indices.push_back(has_nulls && random.below(4) == 0
                                ? std::nullopt
                                : std::optional(static_cast<std::int32_t>(random.below(5))));
        made = reference::make_dictionary(indices, made);
      }
      batch.columns.push_back(made.array);
      owners->push_back(made.owner);
    }
    batches.push_back(std::move(batch));
  }
  return Table(std::move(schema), std::move(batches));
}

/// The cells of an expression over a table and further columns; nullopt: it fails.
std::optional<std::vector<std::optional<std::string>>> cells_of(Table const& table, std::span<Table const> parts,
                                                                Expression const& expression) {
  std::vector<DataType> types;
  std::vector<ColumnReader> readers;
  for (std::size_t c = 0; c < table.schema().size() + parts.size(); ++c) {
    bool const is_part = c >= table.schema().size();
    auto const& from = is_part ? parts[c - table.schema().size()] : table;
    readers.push_back(value_of(ColumnReader::create(from.view(), is_part ? 0 : c)));
    types.push_back(readers.back().type());
  }
  auto const program = value_of(compile(expression, types, Nulls::kept));
  Evaluator evaluator(program);
  ColumnWriter writer(expression.type);
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  for (std::uint64_t begin = 0; begin < rows; begin += kVectorRows) {
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(kVectorRows, rows - begin));
    for (std::size_t c = 0; c < readers.size(); ++c) evaluator.inputs()[c] = readers[c].read(begin, count);
    auto const result = evaluator.run(count);
    if (!result) return std::nullopt;
    testing::succeed(writer.append(*result, count));
  }
  auto const written = writer.finish();
  std::vector<std::optional<std::string>> cells;
  for (std::int64_t i = 0; i < written.array.length; ++i)
    cells.push_back(reference::read_cell(writer.type(), written.array, i));
  return cells;
}

TEST(DictionaryParts, GiveWhatTheWholeExpressionGives) {
  std::size_t parts = 0;
  std::uint32_t const seeds = testing::is_bounded() ? 50 : 300;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Trees trees(seed);
    auto const table =
        random_table(trees, seed % 3 == 0 ? std::vector<std::int64_t>{40, 0, 90} : std::vector<std::int64_t>{130});
    for (int t = 0; t < 4; ++t) {
      auto const expression = trees.of(tree_types()[trees.below(tree_types().size())], 4);
      auto const made = value_of(evaluate_dictionaries(table.view(), expression, 2));
      parts += made.parts.size();
      ASSERT_EQ(cells_of(table, made.parts, made.expression), cells_of(table, {}, expression))
          << seed << ": " << to_string(expression);
    }
  }
  EXPECT_GT(parts, seeds / 2) << "too few expressions have a part over a dictionary";
}

TEST(DictionaryParts, ArePredicatesOverFewValuesThatCannotFail) {
  auto const dictionary = reference::make_strings({"AIR", "RAIL", std::nullopt});
  std::vector<std::optional<std::int32_t>> indices(20, 0);
  auto const table = reference::make_table("mode", {reference::make_dictionary(indices, dictionary)});
  auto const mode = column(0, {TypeId::utf8}, "mode");
  auto const literal = value_of(constant(std::string("AIR"), {TypeId::utf8}));
  auto const parts_of = [&](Result<Expression> made, Table const& of) {
    return value_of(evaluate_dictionaries(of.view(), value_of(std::move(made)), 2)).parts.size();
  };
  EXPECT_EQ(parts_of(compare(mode, Comparator::equal, literal), table), 1U);
  EXPECT_EQ(parts_of(call(Function::upper, {mode}), table), 1U);
  EXPECT_EQ(parts_of(call(Function::is_null, {mode}), table), 0U);
  EXPECT_EQ(parts_of(call(Function::coalesce, {mode, literal}), table), 0U);
  EXPECT_EQ(parts_of(cast(mode, {TypeId::int32}), table), 0U);
  EXPECT_EQ(parts_of(cast(mode, {TypeId::int32}, OnFailure::null), table), 0U);
  auto const few = reference::make_table("mode", {reference::make_dictionary({0, 1}, dictionary)});
  EXPECT_EQ(parts_of(compare(mode, Comparator::equal, literal), few), 0U);
}

}  // namespace
}  // namespace garuda::expr
