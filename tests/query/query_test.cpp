// Whole queries on the host and on every path: rows are compared with rows written by hand, or with the oracles of
// joins and group-bys.
#include <gtest/gtest.h>

#include <algorithm>
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

namespace garuda {
namespace {

using reference::typed;
using Numbers = std::vector<std::optional<std::int64_t>>;
using Texts = std::vector<std::optional<std::string>>;
using Rows = std::vector<std::vector<std::string>>;

class Queries : public testing::EngineTest {
 protected:
  static std::vector<QueryOptions> all_paths() { return EngineTest::all_paths<QueryOptions>(); }

  /// The rows of a query, in its order.
  static Rows rows_of(Query const& query, QueryOptions const& options = {}) {
    auto const result = engine().run(query, options);
    if (!result) return {{result.error().describe()}};
    auto const table = collect(**result);
    if (!table) return {{table.error().describe()}};
    Rows rows;
    for (auto const& row : reference::read_table(table->view()).rows) {
      rows.emplace_back();
      for (auto const& value : row) rows.back().push_back(value.value_or("null"));
    }
    return rows;
  }
  static Rows sorted(Rows rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  /// How the refusal of a strict query begins.
  static std::string strict_refusal(Path path, std::string const& operation) {
    return "the query is strict, and an operator of it does not run on path " + std::string(to_string(path)) + ": " +
           operation;
  }
  static std::string refusal(Query const& query) {
    auto const result = engine().run(query);
    return result ? std::string("no error") : result.error().describe();
  }
};

/// Orders: id, customer, price in batches of `batch_rows`.
Table orders(std::size_t batch_rows = 3) {
  Numbers const ids{1, 2, 3, 4, 5, 6, 7};
  Numbers const customers{10, 20, 10, std::nullopt, 30, 20, 10};
  Numbers const prices{100, 250, 50, 70, std::nullopt, 40, 100};
  std::vector<Batch> batches;
  for (std::size_t first = 0; first < ids.size(); first += batch_rows) {
    auto const part = [&](Numbers const& all) {
      auto const last = std::min(first + batch_rows, all.size());
      return reference::make_column<std::int64_t>(
          typed(TypeId::int64),
          Numbers(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)),
          0);
    };
    batches.push_back(reference::make_batch(std::vector{part(ids), part(customers), part(prices)}));
  }
  return Table(Schema{{"id", typed(TypeId::int64), false},
                      {"customer", typed(TypeId::int64), true},
                      {"price", typed(TypeId::int64), true}},
               std::move(batches));
}

Table customers() {
  std::vector<reference::Column> columns{
      reference::make_column<std::int64_t>(typed(TypeId::int64), Numbers{10, 20, 40}, 0),
      reference::make_strings(Texts{"Ada", "Bo", std::nullopt}, TypeId::utf8)};
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return Table(Schema{{"number", typed(TypeId::int64), false}, {"name", typed(TypeId::utf8), true}},
               std::move(batches));
}

TEST_F(Queries, FiltersAndProjects) {
  auto const table = orders();
  auto const query =
      Query::scan(table.view())
          .filter(call("gte", {column("price"), literal(std::int64_t{70})}))
          .project({{"id", column("id")}, {"double", call("multiply", {column("price"), literal(std::int64_t{2})})}});
  EXPECT_EQ(rows_of(query), (Rows{{"1", "200"}, {"2", "500"}, {"4", "140"}, {"7", "200"}}));
  EXPECT_EQ(rows_of(Query::scan(table.view()).filter(call("is_null", {column("customer")}))),
            (Rows{{"4", "null", "70"}}));
}

TEST_F(Queries, ExpressionsOverDictionaries) {
  auto const modes = reference::make_strings(Texts{"air", "rail", "truck"}, TypeId::utf8);
  auto const column_of = [&](std::vector<std::optional<std::int32_t>> const& codes) {
    return reference::make_dictionary(codes, modes);
  };
  auto const table = reference::make_table("mode", {column_of({0, 1, std::nullopt, 2, 1, 0}), column_of({2, 0, 1})});
  auto const mode = column("mode");
  auto const query = Query::scan(table.view())
                         .filter(call("in", {mode, literal(std::string("air")), literal(std::string("truck"))}))
                         .project({{"mode", call("upper", {mode})}, {"n", call("char_length", {mode})}});
  EXPECT_EQ(rows_of(query), (Rows{{"AIR", "3"}, {"TRUCK", "5"}, {"AIR", "3"}, {"TRUCK", "5"}, {"AIR", "3"}}));
  EXPECT_EQ(rows_of(Query::scan(table.view()).filter(call("is_null", {mode}))), (Rows{{"null"}}));
}

TEST_F(Queries, JoinsAndGroupsOnEveryPath) {
  auto const left = orders();
  auto const right = customers();
  JoinClause clause;
  clause.on = {{column("customer"), column("number")}};
  auto const query =
      Query::scan(left.view())
          .join(Query::scan(right.view()), clause)
          .group_by({{"name", call("upper", {column("name")})}},
                    {{"n", AggregateFunction::count, {}},
                     {"total", AggregateFunction::sum, {call("add", {column("price"), literal(std::int64_t{1})})}},
                     {"large",
                      AggregateFunction::count,
                      {},
                      false,
                      call("gt", {column("price"), literal(std::int64_t{90})})}})
          .sort({{column("total"), true}});
  for (auto const& options : all_paths())
    EXPECT_EQ(rows_of(query, options), (Rows{{"BO", "2", "292", "1"}, {"ADA", "3", "253", "2"}}))
        << to_string(options.path);
}

TEST_F(Queries, EveryKindOfJoinTakesExpressions) {
  auto const left = orders();
  auto const right = customers();
  for (auto const& options : all_paths()) {
    auto const count = [&](JoinKind kind, std::optional<ScalarExpression> where) {
      JoinClause clause{
          kind, {{call("add", {column("customer"), literal(std::int64_t{0})}), column("number")}}, std::move(where)};
      return rows_of(Query::scan(left.view()).join(Query::scan(right.view()), clause), options).size();
    };
    EXPECT_EQ(count(JoinKind::inner, std::nullopt), 5U);
    EXPECT_EQ(count(JoinKind::left, std::nullopt), 7U);
    EXPECT_EQ(count(JoinKind::right, std::nullopt), 6U);
    EXPECT_EQ(count(JoinKind::full, std::nullopt), 8U);
    EXPECT_EQ(count(JoinKind::semi, std::nullopt), 5U);
    EXPECT_EQ(count(JoinKind::anti, std::nullopt), 2U);
    EXPECT_EQ(count(JoinKind::mark, std::nullopt), 7U);
    // One side alone, both sides in a comparison, and both sides in one operand.
    EXPECT_EQ(count(JoinKind::inner, call("gt", {column("price"), literal(std::int64_t{60})})), 3U);
    EXPECT_EQ(count(JoinKind::left, call("gt", {column("price"), literal(std::int64_t{60})})), 7U);
    EXPECT_EQ(count(JoinKind::semi,
                    call("lt", {call("multiply", {column("number"), literal(std::int64_t{4})}), column("price")})),
              4U);
    EXPECT_EQ(
        count(JoinKind::inner, call("lt", {call("add", {column("number"), column("id")}), literal(std::int64_t{14})})),
        2U);
  }
}

/// Equalities of a condition are keys, whether they match nulls or not; what is left of it is tested on pairs.
TEST_F(Queries, EqualitiesOfConditionsAreKeys) {
  auto const left = orders();
  auto const right = customers();
  auto const joined = [&](JoinKind kind, ScalarExpression where) {
    return Query::scan(left.view())
        .join(Query::scan(right.view()), {.kind = kind, .on = {}, .where = std::move(where)});
  };
  auto const customer = column("customer");
  auto const equal = call("equal", {column("number"), customer});
  auto const large = call("gt", {column("price"), literal(std::int64_t{60})});
  auto const same = call("is_not_distinct_from", {customer, column("number")});
  for (auto const& options : all_paths()) {
    EXPECT_EQ(rows_of(joined(JoinKind::inner, call("and", {equal, large})), options).size(), 3U);
    EXPECT_EQ(rows_of(joined(JoinKind::anti, call("and", {large, equal})), options).size(), 4U);
    EXPECT_EQ(rows_of(joined(JoinKind::inner, same), options).size(), 5U);
    EXPECT_EQ(rows_of(joined(JoinKind::left, call("and", {equal, same})), options).size(), 7U);
  }
  auto const nulls = Query::scan(left.view()).filter(call("is_null", {customer}));
  auto const of_nulls = [&](char const* function) {
    JoinClause clause{
        .kind = JoinKind::inner, .on = {}, .where = call(function, {column(std::size_t{1}), column(std::size_t{4})})};
    return rows_of(nulls.join(Query::scan(left.view()), clause)).size();
  };
  EXPECT_EQ(of_nulls("equal"), 0U);
  EXPECT_EQ(of_nulls("is_not_distinct_from"), 1U);
  auto const plan = engine().explain(joined(JoinKind::inner, equal));
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_EQ(plan->details.at(0), (std::pair<std::string, std::string>("work", "inner: customer = number")));
  // Types without a common one are no keys; pairs are told by a widened value.
  auto const floats = call("equal", {customer, cast(column("number"), typed(TypeId::float64))});
  EXPECT_EQ(rows_of(joined(JoinKind::inner, floats)).size(), 5U);
  auto const outside = call("not", {same});
  EXPECT_EQ(rows_of(joined(JoinKind::inner, outside)).size(), 16U);
}

TEST_F(Queries, ConditionsComputeWithBothSides) {
  auto const left = orders();
  auto const right = customers();
  auto const number = [](std::int64_t value) { return literal(value); };
  // There are 7 × 3 pairs: customers 10, 20, 40 and ids 1 to 7.
  auto const sum = call("gt", {call("add", {column("id"), column("number")}), number(44)});
  // The quotient is asked for where the first part is true alone.
  auto const guarded =
      call("and", {call("gt", {column("id"), number(1)}),
                   call("lt", {call("divide", {number(9), call("subtract", {column("id"), number(1)})}),
                               call("subtract", {column("number"), number(7)})})});
  for (auto const& options : all_paths()) {
    auto const count = [&](JoinKind kind, ScalarExpression const& where) {
      return rows_of(Query::scan(left.view()).join(Query::scan(right.view()), {.kind = kind, .on = {}, .where = where}),
                     options)
          .size();
    };
    EXPECT_EQ(count(JoinKind::inner, sum), 3U);
    EXPECT_EQ(count(JoinKind::left, sum), 7U);
    EXPECT_EQ(count(JoinKind::right, sum), 5U);
    EXPECT_EQ(count(JoinKind::full, sum), 9U);
    EXPECT_EQ(count(JoinKind::semi, sum), 3U);
    EXPECT_EQ(count(JoinKind::anti, sum), 4U);
    EXPECT_EQ(count(JoinKind::mark, sum), 7U);
    EXPECT_EQ(count(JoinKind::inner, guarded), 15U);
    EXPECT_EQ(count(JoinKind::left, guarded), 16U);
    EXPECT_EQ(count(JoinKind::anti, guarded), 1U);
  }
}

TEST_F(Queries, ANullPartOfAConditionAsksForNothingBehindIt) {
  auto const left = orders();
  auto const right = customers();
  auto const zero = call("subtract", {column("number"), column("number")});
  auto const where =
      call("and", {call("equal", {column("number"), literal(Literal{{TypeId::int64}, std::monostate()})}),
                   call("gt", {call("divide", {literal(std::int64_t{1}), zero}), literal(std::int64_t{0})})});
  for (auto const& options : all_paths()) {
    auto const joined =
        Query::scan(left.view()).join(Query::scan(right.view()), {.kind = JoinKind::inner, .on = {}, .where = where});
    EXPECT_EQ(rows_of(joined, options).size(), 0U);
    EXPECT_EQ(rows_of(Query::scan(right.view()).filter(where), options).size(), 0U);
  }
}

TEST_F(Queries, DecimalsAreComparedWhereNoTypeHoldsBoth) {
  auto const table = orders();
  auto const fine = cast(column("id"), {.id = TypeId::decimal128, .precision = 28, .scale = 6});
  auto const coarse = cast(column("id"), {.id = TypeId::decimal128, .precision = 38, .scale = 2});
  for (auto const& options : all_paths()) {
    auto const count = [&](ScalarExpression const& where) {
      return rows_of(Query::scan(table.view()).filter(where), options).size();
    };
    EXPECT_EQ(count(call("lt", {fine, coarse})), 0U);
    EXPECT_EQ(count(call("equal", {fine, coarse})), 7U);
    EXPECT_EQ(count(call("between", {coarse, fine, fine})), 7U);
  }
}

TEST_F(Queries, ConstantsKeepTheirValueBesideNarrowFloats) {
  auto const table = orders();
  auto const narrow = cast(literal(0.1), {TypeId::float32});
  auto const rows = Query::scan(table.view()).project({{"tenth", narrow}});
  for (auto const& options : all_paths()) {
    EXPECT_EQ(rows_of(rows.filter(call("lt", {literal(0.1), column("tenth")})), options).size(), 7U);
    EXPECT_EQ(rows_of(rows.filter(call("lt", {literal(0.25), column("tenth")})), options).size(), 0U);
  }
}

TEST_F(Queries, NullsAloneKeepTheirType) {
  auto const table = orders();
  auto const untyped = literal(Literal{{TypeId::boolean}, {}});
  auto const text = literal(Literal{{TypeId::utf8}, {}});
  auto const query = Query::scan(table.view()).project({{"x", call("if", {literal(true), untyped, text})}});
  auto const result = engine().run(query);
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ((*result)->schema()[0].type.id, TypeId::utf8);
}

TEST_F(Queries, AMarkMayBeAllThatIsRead) {
  auto const left = orders();
  auto const right = customers();
  JoinClause const clause{.kind = JoinKind::mark, .on = {{column("customer"), column("number")}}};
  auto const marked = Query::scan(left.view()).join(Query::scan(right.view()), clause);
  EXPECT_EQ(rows_of(marked.filter(column("mark")).project({{"one", literal(std::int64_t{1})}})).size(), 5U);
}

TEST_F(Queries, TablesOnADeviceAreScanned) {
  auto const table = orders();
  auto const price = call("multiply", {column("price"), literal(std::int64_t{2})});
  for (auto const& options : all_paths()) {
    if (options.path != Path::compute) continue;
    auto const there = engine().upload(table.view(), {.device = options.device, .control = {}});
    ASSERT_TRUE(there) << there.error().describe();
    auto const scan = Query::scan(there->view());
    auto const host = Query::scan(table.view());
    auto const forms_of = [&](Query const& from) {
      auto const large = from.filter(call("gt", {column("price"), literal(std::int64_t{60})}));
      JoinClause const clause{JoinKind::inner, {{column("id"), column("id")}}};
      return std::vector{
          from,
          from.sort({{column("price"), true}}),
          large,
          from.project({{"a", column("id")}, {"b", column("id")}, {"p", price}}),
          from.group_by({{"customer", column("customer")}}, {{"sum", AggregateFunction::sum, {price}}}),
          from.group_by({{"a", column("id")}, {"b", column("id")}}, {{"n", AggregateFunction::count, {}}}),
          from.join(host, clause),
          host.join(large, clause).limit(100)};
    };
    auto const on_device = forms_of(scan);
    auto const on_host = forms_of(host);
    for (std::size_t i = 0; i < on_host.size(); ++i) {
      EXPECT_EQ(sorted(rows_of(on_device[i])), sorted(rows_of(on_host[i]))) << i;
      EXPECT_EQ(sorted(rows_of(on_device[i], options)), sorted(rows_of(on_host[i]))) << i;
    }
  }
}

TEST_F(Queries, SortsBreakTiesByWhatFollows) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  EXPECT_EQ(rows_of(scan.project({{"p", column("price")}, {"i", column("id")}}).sort({{column("p"), true, false}})),
            (Rows{{"250", "2"}, {"100", "1"}, {"100", "7"}, {"70", "4"}, {"50", "3"}, {"40", "6"}, {"null", "5"}}));
  EXPECT_EQ(
      rows_of(scan.project({{"p", column("price")}, {"i", column("id")}}).sort({{column("p"), false, true}}).limit(3)),
      (Rows{{"null", "5"}, {"40", "6"}, {"50", "3"}}));
  EXPECT_EQ(rows_of(scan.sort({{call("negate", {column("id")})}}).limit(2, 1).project({{"i", column("id")}})),
            (Rows{{"6"}, {"5"}}));
}

TEST_F(Queries, DistinctRowsAndUnions) {
  auto const table = orders();
  auto const customer = Query::scan(table.view()).project({{"c", column("customer")}});
  EXPECT_EQ(sorted(rows_of(customer.distinct())), (Rows{{"10"}, {"20"}, {"30"}, {"null"}}));
  EXPECT_EQ(rows_of(Query::union_all({customer.limit(1), customer.limit(2, 4)})), (Rows{{"10"}, {"30"}, {"20"}}));
}

TEST_F(Queries, ColumnsOfOneName) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  JoinClause clause;
  clause.on = {{column("id"), column("id")}, {column("id"), column("id")}};
  auto const joined = scan.join(scan, clause);
  EXPECT_EQ(
      rows_of(joined.project({{"a", column(std::size_t{0})}, {"b", column(std::size_t{3})}}).sort({{column("a")}}))
          .size(),
      7U);
  EXPECT_NE(refusal(joined.project({{"a", column("id")}})).find("id"), std::string::npos);
}

TEST_F(Queries, GroupsWithoutKeys) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  std::vector<AggregateCall> const counted{{"n", AggregateFunction::count, {}}};
  EXPECT_EQ(rows_of(scan.group_by({}, counted)), (Rows{{"7"}}));
  EXPECT_EQ(rows_of(scan.filter(literal(false)).group_by({}, counted)), (Rows{{"0"}}));
}

TEST_F(Queries, PlansHaveANodeForEachOperator) {
  auto const table = orders();
  auto const query =
      Query::scan(table.view()).filter(call("gt", {column("price"), literal(std::int64_t{60})})).limit(2);
  auto const explained = engine().explain(query);
  ASSERT_TRUE(explained) << explained.error().describe();
  EXPECT_EQ(explained->operation, "limit");
  EXPECT_EQ(explained->inputs.at(0).operation, "filter");
  QueryOptions on_one_thread;
  on_one_thread.threads = 1;
  auto const result = engine().run(query, on_one_thread);
  ASSERT_TRUE(result) << result.error().describe();
  // The limit is reached in the first batches: the others are not read, but by threads that had begun on them.
  EXPECT_EQ((*result)->plan().inputs.at(0).estimated_rows, 2);
  EXPECT_EQ((*result)->stats().rows_out, 2U);
}

TEST_F(Queries, RowsAreNumberedWithinTheirPartition) {
  for (std::size_t const batch_rows : {1U, 3U, 7U}) {
    auto const table = orders(batch_rows);
    auto const scan = Query::scan(table.view());
    auto const number = [&](std::vector<ScalarExpression> partition, std::vector<SortKey> keys) {
      auto const numbered = scan.number_rows("number", std::move(partition), std::move(keys));
      Rows rows =
          rows_of(numbered.project({{"id", column("id")}, {"number", column("number")}}).sort({{column("id")}}));
      std::string numbers;
      for (auto const& row : rows) numbers += row.at(1);
      return numbers;
    };
    EXPECT_EQ(number({}, {}), "1234567");
    EXPECT_EQ(number({}, {{column("id"), true}}), "7654321");
    EXPECT_EQ(number({column("customer")}, {{column("price"), true}}), "1131122");
    EXPECT_EQ(number({column("customer")}, {{column("price")}}), "2211113");
    EXPECT_EQ(number({}, {{column("price"), false, true}}), "5734126");
    EXPECT_EQ(number({call("modulus", {column("id"), literal(std::int64_t{2})})}, {}), "1122334");
    auto const first = scan.number_rows("n", {column("customer")}, {{column("id")}})
                           .filter(call("equal", {column("n"), literal(std::int64_t{1})}))
                           .project({{"id", column("id")}});
    EXPECT_EQ(sorted(rows_of(first)), (Rows{{"1"}, {"2"}, {"4"}, {"5"}}));
    EXPECT_EQ(rows_of(scan.number_rows("n", {}, {}).group_by({}, {AggregateCall{}})), (Rows{{"7"}}));
  }
  auto const none = orders().view().schema();
  Table const empty(none, {});
  EXPECT_EQ(rows_of(Query::scan(empty.view()).number_rows("n", {column("id")}, {})).size(), 0U);
}

TEST_F(Queries, ConstantsOfDictionariesAreValues) {
  auto const table = orders();
  DataType coded{TypeId::dictionary};
  coded.value = std::make_shared<DataType const>(DataType{TypeId::utf8});
  auto const query = Query::scan(table.view())
                         .project({{"id", column("id")},
                                   {"null", literal(Literal{coded, {}})},
                                   {"text", literal(Literal{coded, std::string("a")})}})
                         .limit(1);
  EXPECT_EQ(rows_of(query), (Rows{{"1", "null", "a"}}));
}

TEST_F(Queries, StrictQueriesComputeNothingOnTheHost) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  auto const joined = scan.join(Query::scan(table.view()), {JoinKind::inner, {{column("id"), column("id")}}});
  auto const filtered = joined.filter(call("gt", {column(std::size_t{2}), literal(std::int64_t{60})}));
  auto const sorted_rows = filtered.sort({{column(std::size_t{0})}});
  for (auto options : all_paths()) {
    options.strict = true;
    EXPECT_EQ(rows_of(joined, options).size(), 7U);
    auto const rows = rows_of(filtered, options);
    bool const has_filter = options.path != Path::cuda;
    if (has_filter)
      EXPECT_EQ(rows.size(), 4U);
    else
      EXPECT_TRUE(rows.at(0).at(0).starts_with(strict_refusal(options.path, "filter")));
    auto const refused = strict_refusal(options.path, has_filter ? "sort" : "");
    if (options.path != Path::cpu) EXPECT_TRUE(rows_of(sorted_rows, options).at(0).at(0).starts_with(refused));
  }
}

TEST_F(Queries, JoinsWithoutKeysRunOnTheHostWhereAPathHasNone) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  JoinClause without_keys{JoinKind::inner, {}};
  without_keys.where = call("lt", {column(std::size_t{0}), column(std::size_t{3})});
  auto const joined = scan.join(scan, without_keys);
  for (auto options : all_paths()) {
    EXPECT_EQ(rows_of(joined, options).size(), 21U);
    options.strict = true;
    auto const rows = rows_of(joined, options);
    auto const refused = "path " + std::string(to_string(options.path)) + ": join without keys";
    if (options.path == Path::graphics || options.path == Path::cuda)
      EXPECT_NE(rows.at(0).at(0).find(refused), std::string::npos) << rows.at(0).at(0);
    else
      EXPECT_EQ(rows.size(), 21U);
  }
}

/// Whether rows are grouped as a pipeline gives them, or when all are there.
TEST_F(Queries, SumsBeyondTheirTypeNameColumnsAsTheQueryDoes) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  auto const large = call("add", {column("price"), literal(std::numeric_limits<std::int64_t>::max() - 250)});
  for (auto const& input : {scan, scan.filter(call("gte", {column("price"), literal(std::int64_t{0})}))})
    for (auto const& more : {AggregateCall{"", AggregateFunction::count, {}},
                             AggregateCall{"", AggregateFunction::median, {column("price")}}}) {
      auto aggregates = std::vector<AggregateCall>{{"total", AggregateFunction::sum, {large}}, more};
      EXPECT_NE(refusal(input.group_by({{"buyer", column("customer")}}, aggregates))
                    .find("'total' is beyond int64 in the group buyer = "),
                std::string::npos);
    }
}

TEST_F(Queries, MistakesAreNamed) {
  auto const table = orders();
  auto const scan = Query::scan(table.view());
  EXPECT_NE(refusal(scan.filter(column("prize"))).find("prize"), std::string::npos);
  EXPECT_NE(refusal(scan.filter(column("price"))).find("a boolean, not int64"), std::string::npos);
  EXPECT_NE(refusal(scan.project({{"x", call("frobnicate", {})}})).find("no function of this name: frobnicate"),
            std::string::npos);
  EXPECT_NE(refusal(scan.project({{"x", call("lt", {column("id")})}})).find("so many arguments: 1"), std::string::npos);
  EXPECT_NE(refusal(scan.project({})).find("no columns"), std::string::npos);
  EXPECT_NE(refusal(scan.project({{"x", call("divide", {column("id"), literal(std::int64_t{0})})}})).find("id"),
            std::string::npos);
  EXPECT_NE(refusal(Query::union_all({scan, scan.project({{"x", column("id")}})})).find("different types"),
            std::string::npos);
}

}  // namespace
}  // namespace garuda
