// What the planner makes of queries: their rows are those of the query as it is written, and their plans say what runs.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/unwrap.hpp"

namespace garuda::planned {
namespace {

using Values = std::vector<std::optional<std::int64_t>>;
using Rows = std::vector<std::vector<std::string>>;

class PlannedQueries : public testing::EngineTest {
 protected:
  /// The columns `names`, of int64.
  static Table table_of(std::vector<std::string> const& names, std::vector<Values> const& columns) {
    std::vector<reference::Column> made;
    Schema schema;
    for (std::size_t c = 0; c < names.size(); ++c) {
      made.push_back(reference::make_column<std::int64_t>({TypeId::int64}, columns[c], 0));
      schema.push_back({names[c], {TypeId::int64}, true});
    }
    std::vector<Batch> batches;
    batches.push_back(reference::make_batch(made));
    return Table(std::move(schema), std::move(batches));
  }

  struct Outcome {
    Rows rows;
    std::string plan;
    std::string error;
  };

  static Outcome run(Query const& query, QueryOptions const& options = {}) {
    auto const result = engine().run(query, options);
    if (!result) return {{}, {}, result.error().describe()};
    auto const table = collect(**result);
    if (!table) return {{}, {}, table.error().describe()};
    Outcome outcome{{}, to_string((*result)->plan()), {}};
    for (auto const& row : reference::read_table(table->view()).rows) {
      outcome.rows.emplace_back();
      for (auto const& value : row) outcome.rows.back().push_back(value.value_or("null"));
    }
    return outcome;
  }

  static std::size_t count(std::string const& text, std::string const& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

ScalarExpression number(std::int64_t value) { return literal(value); }

TEST_F(PlannedQueries, AFailureOfASampledRowIsNoneOfTheQuery) {
  constexpr std::int64_t kRows = 1 << 18;
  Values ids;
  Values divisors;
  for (std::int64_t i = 0; i < kRows; ++i) {
    ids.emplace_back(i);
    divisors.emplace_back(i < kRows - 5'000 ? 1 : 0);
  }
  auto const table = table_of({"id", "divisor"}, {ids, divisors});
  auto const few = table_of({"key"}, {{1, 2, 3}});
  auto const quotient = call("divide", {number(10), column("divisor")});
  QueryOptions options;
  options.path = Path::cpu;
  options.threads = 1;
  auto const limited = Query::scan(table.view()).filter(call("gt", {quotient, number(1)})).limit(4);
  auto const joined = limited.join(Query::scan(few.view()), {.on = {{column("id"), column("key")}}});
  auto const outcome = run(joined, options);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.rows.size(), 3U);
  auto const projected = Query::scan(table.view()).project({{"id", column("id")}, {"q", quotient}}).limit(4);
  EXPECT_EQ(run(projected.join(Query::scan(few.view()), {.on = {{column("id"), column("key")}}}), options).error, "");
  // The same rows, all of which are wanted, have a failure.
  auto const all = Query::scan(table.view()).filter(call("gt", {quotient, number(1)}));
  EXPECT_NE(run(all.join(Query::scan(few.view()), {.on = {{column("id"), column("key")}}}), options).error, "");
}

TEST_F(PlannedQueries, NullEndsAnAndInFiltersAndConditions) {
  auto const table = table_of({"a", "zero"}, {{1, std::nullopt, 3}, {1, 0, 2}});
  auto const asks = call("and", {call("gt", {column("a"), number(0)}),
                                 call("gt", {call("divide", {number(6), column("zero")}), number(2)})});
  auto const filtered = run(Query::scan(table.view()).filter(asks));
  EXPECT_EQ(filtered.error, "");
  EXPECT_EQ(filtered.rows.size(), 2U);
  auto const other = table_of({"b"}, {{1, 3}});
  JoinClause clause{.on = {}, .where = call("and", {call("equal", {column("a"), column("b")}), asks})};
  EXPECT_EQ(run(Query::scan(table.view()).join(Query::scan(other.view()), clause)).rows.size(), 2U);
  // Elsewhere null is not false, and the second part may make it so.
  EXPECT_NE(run(Query::scan(table.view()).project({{"x", asks}})).error, "");
  EXPECT_NE(run(Query::scan(table.view()).filter(call("not", {asks}))).error, "");
}

TEST_F(PlannedQueries, EqualSubtreesRunOnce) {
  auto const table = table_of({"k", "v"}, {{1, 1, 2, 2, 3}, {5, 6, 7, 8, 9}});
  auto const sums = [&](std::string const& name) {
    return Query::scan(table.view())
        .filter(call("gt", {column("v"), number(5)}))
        .group_by({{name, column("k")}}, {{"s", AggregateFunction::sum, {column("v")}}});
  };
  // Names of columns make no difference; other constants and tables do.
  auto const most = sums("other").group_by({}, {{"most", AggregateFunction::max, {column("s")}}});
  auto const query = sums("k").join(most, {.on = {{column("s"), column("most")}}});
  auto const outcome = run(query);
  EXPECT_EQ(outcome.rows, (std::vector<std::vector<std::string>>{{"2", "15", "15"}})) << outcome.error;
  EXPECT_EQ(count(outcome.plan, "again on"), 1U) << outcome.plan;
  EXPECT_EQ(count(outcome.plan, "table on"), 1U) << outcome.plan;
  EXPECT_EQ(count(to_string(testing::value_of(engine().explain(query))), "again on"), 1U);

  auto const same_rows = table_of({"k", "v"}, {{1, 1, 2, 2, 3}, {5, 6, 7, 8, 9}});
  auto const of_other_table = Query::scan(same_rows.view())
                                  .filter(call("gt", {column("v"), number(5)}))
                                  .group_by({{"k", column("k")}}, {{"s", AggregateFunction::sum, {column("v")}}});
  EXPECT_EQ(count(run(Query::union_all({sums("k"), of_other_table})).plan, "again on"), 0U);
  auto const thrice = run(Query::union_all({sums("k"), sums("l"), sums("m")}));
  EXPECT_EQ(thrice.rows.size(), 9U);
  EXPECT_EQ(count(thrice.plan, "again on"), 2U) << thrice.plan;
}

TEST_F(PlannedQueries, EqualBuildSidesAreMadeOnce) {
  auto const rows = table_of({"k", "v"}, {{1, 2, 3, 4}, {10, 20, 30, 40}});
  auto const others = table_of({"o"}, {{1, 2, 2, 3, 3, 3, 4, 4, 4, 4}});
  auto const side = Query::scan(rows.view()).filter(call("gt", {column("v"), number(10)}));
  auto const joined = Query::scan(others.view()).join(side, {.on = {{column("o"), column("k")}}});
  auto const query = Query::union_all({joined.group_by({}, {{"n", AggregateFunction::count, {}}}),
                                       joined.group_by({}, {{"n", AggregateFunction::sum, {column("v")}}})});
  QueryOptions options;
  options.path = Path::cpu;
  auto const outcome = run(query, options);
  EXPECT_EQ(outcome.rows, (std::vector<std::vector<std::string>>{{"9"}, {"290"}})) << outcome.error;
  EXPECT_EQ(count(outcome.plan, "again on"), 1U) << outcome.plan;
}

/// Rows that a join does not match are left out of the groups on its probe side, before the joins below look them up.
TEST_F(PlannedQueries, RowsOfGroupsThatNothingMatchesAreLookedUpNowhere) {
  Values keys;
  Values dimensions;
  for (std::int64_t i = 0; i < 64; ++i) {
    keys.emplace_back(i % 16);
    dimensions.emplace_back(i / 16);
  }
  auto const facts = table_of({"k", "d"}, {keys, dimensions});
  auto const weights = table_of({"dimension", "w"}, {{0, 1, 2, 3}, {1, 10, 100, 1'000}});
  auto const few = table_of({"wanted", "sum"}, {{3, 7, 99}, {1'111, 5, 1'111}});
  auto const joined =
      Query::scan(facts.view())
          .join(Query::scan(weights.view()), {.on = {{column("d"), column("dimension")}}})
          .project({{"k", column("k")}, {"w", column("w")}, {"twice", call("add", {column("w"), column("w")})}});
  auto const sums = joined.group_by({{"k", column("k")}}, {{"s", AggregateFunction::sum, {column("w")}},
                                                           {"t", AggregateFunction::sum, {column("twice")}}});
  QueryOptions options;
  options.path = Path::cpu;
  auto const by_key = run(Query::scan(few.view())
                              .join(sums, {.on = {{column("wanted"), column("k")}}})
                              .project({{"wanted", column("wanted")}, {"s", column("s")}, {"t", column("t")}})
                              .sort({{column("wanted")}}),
                          options);
  EXPECT_EQ(by_key.rows, (std::vector<std::vector<std::string>>{{"3", "1111", "2222"}, {"7", "1111", "2222"}}))
      << by_key.error;
  EXPECT_EQ(count(by_key.plan, "join on cpu: semi"), 1U) << by_key.plan;
  EXPECT_EQ(count(by_key.plan, "join on cpu: inner: d = dimension; 8 rows"), 1U) << by_key.plan;
  // The sum is no key of the groups, so that it leaves out none of their rows.
  auto const by_both =
      run(Query::scan(few.view()).join(sums, {.on = {{column("wanted"), column("k")}, {column("sum"), column("s")}}}),
          options);
  EXPECT_EQ(by_both.rows, (std::vector<std::vector<std::string>>{{"3", "1111", "3", "1111", "2222"}})) << by_both.error;
  // Keys of a build side leave out rows above the join that it is of.
  auto const by_dimension =
      Query::scan(few.view())
          .join(Query::scan(facts.view())
                    .join(Query::scan(weights.view()), {.on = {{column("d"), column("dimension")}}})
                    .group_by({{"w", column("w")}}, {{"n", AggregateFunction::count, {}}}),
                {.on = {{column("sum"), column("w")}}});
  EXPECT_EQ(run(by_dimension, options).rows, (std::vector<std::vector<std::string>>{}));
}

TEST_F(PlannedQueries, ScansPickTheirColumnsOnce) {
  auto const table = table_of({"a", "b", "c"}, {{1, 2}, {3, 4}, {5, 6}});
  auto const other = table_of({"d"}, {{1}});
  auto const query = Query::scan(table.view())
                         .filter(call("gt", {column("b"), number(0)}))
                         .join(Query::scan(other.view()), {.on = {{column("a"), column("d")}}})
                         .project({{"c", column("c")}});
  auto const plan = to_string(testing::value_of(engine().explain(query)));
  EXPECT_EQ(count(plan, "project on host: a, b, c"), 1U) << plan;
}

void expect_same_places(Plan const& explained, Plan const& ran) {
  SCOPED_TRACE(explained.operation);
  EXPECT_EQ(explained.operation, ran.operation);
  // The planner of an operator waits for the rows that others are to give it.
  if (explained.path != Path::automatic) {
    EXPECT_EQ(explained.path, ran.path);
    EXPECT_EQ(explained.device, ran.device);
  }
  EXPECT_FALSE(explained.reason.empty() && explained.operation != "table" && explained.operation != "project");
  ASSERT_EQ(explained.inputs.size(), ran.inputs.size());
  for (std::size_t i = 0; i < ran.inputs.size(); ++i) expect_same_places(explained.inputs[i], ran.inputs[i]);
}

TEST_F(PlannedQueries, PlansSayWhereOperatorsWillRun) {
  auto const left = table_of({"k", "v"}, {{1, 1, 2, 2, 3}, {5, 6, 7, 8, 9}});
  auto const right = table_of({"k", "w"}, {{1, 2, 4}, {10, 20, 40}});
  JoinClause const on_k{.on = {{column("k"), column("k")}}};
  auto const joined = Query::scan(left.view()).join(Query::scan(right.view()), on_k);
  auto const filtered = Query::scan(left.view()).filter(call("gt", {column("v"), number(5)}));
  NamedExpression const by_w{"w", column("w")};
  AggregateCall const sum_of_v{"s", AggregateFunction::sum, {column("v")}};
  std::vector<Query> const queries{
      joined,
      joined.group_by({by_w}, {sum_of_v}),
      joined.limit(2),
      filtered.join(Query::scan(right.view()), on_k).group_by({by_w}, {sum_of_v}).sort({{column("s")}}).limit(1),
      Query::scan(left.view()).group_by({{"k", column("k")}}, {sum_of_v}),
      filtered.group_by({}, {sum_of_v}),
      Query::union_all({filtered, Query::scan(left.view())}),
      Query::scan(left.view()).join(Query::scan(right.view()), {.on = {}})};
  auto options = all_paths<QueryOptions>();
  options.emplace_back();
  for (auto const& each : options)
    for (std::size_t q = 0; q < queries.size(); ++q) {
      SCOPED_TRACE(std::string(to_string(each.path)) + ", query " + std::to_string(q));
      auto const ran = testing::value_of(engine().run(queries[q], each));
      auto const plan = testing::value_of(engine().explain(queries[q], each));
      expect_same_places(plan, ran->plan());
      ASSERT_EQ(plan.written.size(), 1U);
      EXPECT_TRUE(plan.written[0].device.empty());
    }
}

/// A join of tables is the same whether a query asks for it or a call.
TEST_F(PlannedQueries, JoinsOfTablesArePlannedAsJoins) {
  auto const left = table_of({"k", "v"}, {{1, 1, 2, 2, 3}, {5, 6, 7, 8, 9}});
  auto const right = table_of({"k", "w"}, {{1, 2, 4}, {10, 20, 40}});
  auto const query = Query::scan(left.view()).join(Query::scan(right.view()), {.on = {{column("k"), column("k")}}});
  JoinSpec spec;
  spec.on = {{"k", "k"}};
  auto const plan = testing::value_of(engine().explain(query));
  auto const of_join = testing::value_of(engine().explain_join(left.view(), right.view(), spec));
  EXPECT_EQ(plan.choices, of_join.choices);
  EXPECT_EQ(plan.path, of_join.path);
  EXPECT_EQ(plan.candidates.size(), of_join.candidates.size());
}

/// The row of a group-by without keys is constants to the rows that it is joined with, null ones too.
TEST_F(PlannedQueries, ARowOfASubqueryIsConstants) {
  auto const table = table_of({"k", "v"}, {{1, 2, std::nullopt, 4}, {5, 6, 7, std::nullopt}});
  auto const none = table_of({"k", "v"}, {{}, {}});
  auto const text_of = [](ScalarExpression value) { return cast(std::move(value), {TypeId::utf8}); };
  auto const row_of = [&](Table const& of) {
    return Query::scan(of.view())
        .group_by({}, {{"rows", AggregateFunction::count, {}},
                       {"most", AggregateFunction::max, {column("v")}},
                       {"mean", AggregateFunction::mean, {column("v")}}})
        .project({{"rows", column("rows")},
                  {"most", column("most")},
                  {"mean", column("mean")},
                  {"text", text_of(column("most"))},
                  {"is_most", call("gt", {column("rows"), number(3)})}});
  };
  auto const rows = Query::scan(table.view());
  using Rows = std::vector<std::vector<std::string>>;
  std::string const six = "4018000000000000";  // the bits of a float64
  auto const above = call("lt", {column("v"), column("most")});
  for (auto const kind : {JoinKind::inner, JoinKind::left}) {
    auto const outcome = run(rows.join(row_of(table), {.kind = kind}).filter(above));
    EXPECT_EQ(outcome.rows, (Rows{{"1", "5", "4", "7", six, "7", "true"}, {"2", "6", "4", "7", six, "7", "true"}}));
    EXPECT_EQ(count(outcome.plan, "nested_loops"), 0U) << outcome.plan;
  }
  auto const of_none = run(rows.join(row_of(none), {}));
  EXPECT_EQ(of_none.rows.size(), 4U) << of_none.error;
  EXPECT_EQ(of_none.rows.at(0), (std::vector<std::string>{"1", "5", "0", "null", "null", "null", "false"}));
  EXPECT_EQ(run(rows.join(row_of(none), {}).filter(above)).rows.size(), 0U);
  EXPECT_EQ(run(row_of(table).join(rows, {.kind = JoinKind::right})).rows.size(), 4U);
  EXPECT_EQ(run(row_of(table).join(row_of(none), {})).rows.size(), 1U);
  EXPECT_EQ(run(Query::scan(none.view()).join(row_of(table), {})).rows.size(), 0U);
  // A constant is null where rows of another table have no match.
  auto const five = rows.project({{"k", column("k")}, {"five", number(5)}});
  auto const outer = five.join(Query::scan(table.view()).filter(call("gt", {column("k"), number(3)})),
                               {.kind = JoinKind::full, .on = {{column("five"), column("k")}}});
  auto const sums = run(outer.project({{"sum", call("add", {column("five"), number(1)})}}).sort({{column("sum")}}));
  EXPECT_EQ(sums.rows, (Rows{{"6"}, {"6"}, {"6"}, {"6"}, {"null"}})) << sums.error;
  // Where the other side has no rows, the row has no match.
  EXPECT_EQ(run(row_of(table).join(Query::scan(none.view()), {.kind = JoinKind::left})).rows.size(), 1U);
}

/// Averages of integers are those of their floats, which groups of a pipeline do not write.
TEST_F(PlannedQueries, IntegersAreAveragedAsTheirFloats) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  auto const table =
      table_of({"key", "value"}, {Values{1, 2, 1, 2, 1, 2}, Values{kMost, kMost, std::nullopt, -1, kMost - 600, 5}});
  auto const floats = cast(column("value"), {TypeId::float64});
  auto const scan = Query::scan(table.view());
  auto const mean = AggregateCall{"mean", AggregateFunction::mean, {floats}};
  // The bits of 1.2 * 2^62, of 2^63, and of 2^63 / 3.
  std::vector<std::string> const all{"43d3333333333333"};
  Rows const by_key{{"1", "43e0000000000000"}, {"2", "43c5555555555555"}};
  // Infinite sums end the grouping of rows as they come, and all of them are grouped anew.
  auto const infinite = call("divide", {cast(column("key"), {TypeId::float64}), literal(0.0)});
  for (auto const& options : all_paths<QueryOptions>()) {
    EXPECT_EQ(run(scan.group_by({}, {mean}), options).rows, Rows{all});
    EXPECT_EQ(run(scan.group_by({{"key", column("key")}}, {mean}).sort({{column("key")}}), options).rows, by_key);
    auto const both = run(scan.group_by({}, {mean, {"sum", AggregateFunction::sum, {infinite}}}), options);
    EXPECT_EQ(both.rows, (Rows{{all[0], "7ff0000000000000"}})) << both.error;
    auto const more = run(scan.group_by({}, {mean, {"least", AggregateFunction::min, {floats}}}), options);
    EXPECT_EQ(more.rows, (Rows{{all[0], "bff0000000000000"}})) << more.error;
    auto const none = run(scan.filter(literal(false)).group_by({}, {mean}), options);
    EXPECT_EQ(none.rows, (Rows{{"null"}})) << none.error;
  }
}

TEST_F(PlannedQueries, RowsAreCountedBehindFilters) {
  auto const table = table_of({"key", "value"}, {Values{1, 2, 1, 2, 1, 2}, Values{1, 2, std::nullopt, 4, 5, 6}});
  auto const passing = Query::scan(table.view()).filter(call("gt", {column("value"), number(1)}));
  AggregateCall const rows{"rows", AggregateFunction::count, {}};
  for (auto const& options : all_paths<QueryOptions>()) {
    EXPECT_EQ(run(passing.group_by({}, {rows}), options).rows, (Rows{{"4"}}));
    EXPECT_EQ(
        run(passing.group_by({}, {rows, {"keys", AggregateFunction::count, {column("key")}, true}}), options).rows,
        (Rows{{"4", "2"}}));
    EXPECT_EQ(run(passing.filter(literal(false)).group_by({}, {rows}), options).rows, (Rows{{"0"}}));
  }
}

}  // namespace
}  // namespace garuda::planned
