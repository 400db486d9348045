// Tables in the form that queries keep: their types, what they become, and queries over them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/stored_table.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/unwrap.hpp"

namespace garuda {
namespace {

using reference::typed;
using testing::value_of;
using Strings = std::vector<std::optional<std::string>>;
using Decimals = std::vector<std::optional<reference::Decimal128>>;

constexpr std::size_t kRows = 1'000;

Strings words(std::size_t rows, std::size_t values, std::size_t null_every = 0) {
  Strings column(rows);
  for (std::size_t i = 0; i < rows; ++i)
    if (null_every == 0 || i % null_every != 0)
      column[i] = std::string(i % values % 20, 'x') + std::to_string(i * 7 % values);
  return column;
}

Decimals decimals(std::size_t rows, std::int64_t factor) {
  Decimals column(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto const value = (static_cast<std::int64_t>(i) - 500) * factor;
    if (i % 9 != 0) column[i] = reference::Decimal128{static_cast<std::uint64_t>(value), value < 0 ? -1 : 0};
  }
  return column;
}

DataType decimal_of(std::int32_t precision) { return typed(TypeId::decimal128, precision, 2); }

Table table_of(std::vector<reference::Column> const& columns) {
  Schema schema;
  for (auto const& column : columns) schema.push_back({"c" + std::to_string(schema.size()), column.type, true});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return {std::move(schema), std::move(batches)};
}

class StoredTables : public testing::EngineTest {
 protected:
  /// The rows of a query, and the types of its columns.
  static reference::TextTable rows_of(Query const& query, QueryOptions const& options = {}) {
    auto const result = value_of(engine().run(query, options));
    auto const table = value_of(collect(*result));
    return reference::read_table(table.view());
  }
  static Schema schema_of(Query const& query) {
    auto const result = value_of(engine().run(query, {}));
    return result->schema();
  }
};

TEST_F(StoredTables, TakeTheSmallestForm) {
  std::vector<reference::Column> const columns{
      reference::make_strings(words(kRows, 12)), reference::make_strings(words(kRows, 12, 5), TypeId::utf8_view),
      reference::make_strings(words(kRows, 200), TypeId::large_binary), reference::make_strings(words(kRows, 300)),
      reference::make_column<reference::Decimal128>(decimal_of(9), decimals(kRows, 1), 0),
      reference::make_column<reference::Decimal128>(decimal_of(15), decimals(kRows, 1'000'000'000'000), 3),
      reference::make_column<reference::Decimal128>(decimal_of(19), decimals(kRows, 1), 0),
      // Arrow does not look whether values have more digits than their type.
      reference::make_column<reference::Decimal128>(decimal_of(15), decimals(kRows, 1'000'000'000'000'000), 0)};
  auto const table = table_of(columns);
  auto const stored = value_of(store(table.view()));
  std::vector<TypeId> found;
  for (auto const& field : stored.table.schema()) found.push_back(field.type.id);
  EXPECT_EQ(found, (std::vector{TypeId::dictionary, TypeId::dictionary, TypeId::dictionary, TypeId::utf8,
                                TypeId::decimal32, TypeId::decimal64, TypeId::decimal128, TypeId::decimal128}));
  EXPECT_EQ(stored.fields, table.schema());
  auto const query = Query::scan(ScannedTable(stored));
  EXPECT_EQ(rows_of(query).rows, rows_of(Query::scan(table.view())).rows);
  auto const schema = schema_of(query);
  for (std::size_t c = 0; c < schema.size(); ++c) EXPECT_EQ(schema[c].type, table.schema()[c].type) << c;
}

TEST_F(StoredTables, DictionariesAscend) {
  auto const table = reference::make_table("c", {reference::make_strings(words(kRows, 37, 4))});
  auto const stored = value_of(store(table.view()));
  auto const& codes = stored.table.batches()[0].columns[0];
  ASSERT_TRUE(codes.dictionary->ascends);
  EXPECT_EQ(codes.null_count, count_nulls(table.batches()[0].columns[0]));
  auto const* const offsets = static_cast<std::int32_t const*>(codes.dictionary->offsets);
  auto const* const bytes = static_cast<char const*>(codes.dictionary->values);
  for (std::int64_t i = 1; i < codes.dictionary->length; ++i) {
    std::string const before(bytes + offsets[i - 1], bytes + offsets[i]);
    EXPECT_LT(before, std::string(bytes + offsets[i], bytes + offsets[i + 1]));
  }
}

TEST_F(StoredTables, QueriesGiveTheSameRows) {
  auto const texts = [](std::size_t rows, std::size_t skip) {
    return reference::make_strings(words(rows, 23 + skip, 6 + skip));
  };
  Schema const schema{{"s", {TypeId::utf8}, true}, {"t", {TypeId::utf8}, true}, {"d", decimal_of(15), true}};
  std::vector<Batch> batches;
  for (std::size_t const rows : {std::size_t{20'000}, std::size_t{0}, kRows, std::size_t{1}})
    batches.push_back(
        reference::make_batch({texts(rows, 0), texts(rows, 7),
                               reference::make_column<reference::Decimal128>(decimal_of(15), decimals(rows, 3), 0)}));
  Table const table(schema, std::move(batches));
  auto const stored = value_of(store(table.view(), {.threads = 3, .control = {}}));
  auto const over = [](Query const& rows) {
    auto const few = rows.group_by({{"t", column("t")}}, {{.name = "n"}});
    return std::vector<Query>{
        rows.group_by(
            {{"s", column("s")}},
            {{"n"}, {"sum", AggregateFunction::sum, {column("d")}}, {"least", AggregateFunction::min, {column("t")}}}),
        rows.group_by({{"s", column("s")}, {"t", column("t")}}, {{"n"}, {"m", AggregateFunction::mean, {column("d")}}}),
        rows.group_by({}, {{"n", AggregateFunction::count, {column("t")}, true}}),
        rows.filter(call("like", {column("s"), literal(std::string("%1%"))}))
            .sort({{column("s"), true, true}, {column("t")}})
            .limit(100),
        rows.join(few, {JoinKind::inner, {{column("s"), column("t")}}}).group_by({{"s", column("s")}}, {{"n"}}),
        rows.join(few, {JoinKind::left, {{column("s"), column("t")}}}).group_by({{"n", column("n")}}, {{"c"}}),
        Query::union_all({few, few}).sort({{column("t")}})};
  };
  auto const plain = over(Query::scan(table.view()));
  auto const kept = over(Query::scan(ScannedTable(stored)));
  for (auto options : all_paths<QueryOptions>()) {
    options.threads = 3;
    for (std::size_t q = 0; q < plain.size(); ++q)
      EXPECT_EQ(sorted(rows_of(kept[q], options)).rows, sorted(rows_of(plain[q], options)).rows)
          << "query " << q << " on " << to_string(options.path);
  }
}

TEST_F(StoredTables, ResultsOutliveThem) {
  std::optional<Table> rows;
  {
    auto const table = reference::make_table("c", {reference::make_strings(words(kRows, 12))});
    auto const stored = value_of(store(table.view()));
    auto const groups = Query::scan(ScannedTable(stored)).group_by({{"c", column(std::size_t{0})}}, {{"n"}});
    auto const result = value_of(engine().run(groups, {}));
    rows = value_of(collect(*result));
  }
  EXPECT_EQ(reference::read_table(rows->view()).rows.size(), 12U);
}

TEST_F(StoredTables, OfNothing) {
  auto const none = reference::make_table("c", {reference::make_strings({})});
  EXPECT_EQ(value_of(store(none.view())).table.num_rows(), 0);
  Table const without_batches({{"c", {TypeId::utf8}, true}}, {});
  EXPECT_EQ(value_of(store(without_batches.view())).fields.size(), 1U);
  auto const nulls = reference::make_table("c", {reference::make_strings(Strings(kRows))});
  auto const stored = value_of(store(nulls.view()));
  EXPECT_EQ(stored.table.schema()[0].type.id, TypeId::utf8);
}

TEST_F(StoredTables, SayWhatIsWrong) {
  auto const table = reference::make_table("c", {reference::make_strings(words(kRows, 12))});
  auto const threads = store(table.view(), {.threads = kMostThreads + 1, .control = {}});
  ASSERT_FALSE(threads);
  EXPECT_EQ(threads.error().code(), ErrorCode::usage);
  std::atomic<bool> cancelled{true};
  auto const stopped = store(table.view(), {.threads = 1, .control = {.cancelled = &cancelled}});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda
