// Operators of queries on a device against those of the host: the same bits, by the same expressions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/query/device_queries.hpp"
#include "tests/query/random_expressions.hpp"
#include "tests/query/random_queries.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda {
namespace {

using reference::typed;
using testing::day;
using testing::decimal;
using testing::items;
using testing::operations_on;
using DeviceQueries = testing::DeviceQueryTest;

/// A table whose columns are the pairs of values of two lists.
template <class T>
Table pairs_of(DataType const& type, std::vector<T> const& values) {
  std::vector<std::optional<T>> first;
  std::vector<std::optional<T>> second;
  for (auto const& a : values)
    for (auto const& b : values) {
      first.push_back(a);
      second.push_back(b);
    }
  first.push_back(std::nullopt);
  second.push_back(values.front());
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(
      std::vector{reference::make_column<T>(type, first, 0), reference::make_column<T>(type, second, 0)}));
  return Table(Schema{{"a", type, true}, {"b", type, true}}, std::move(batches));
}

/// A projection of calls of functions of `a` and `b`, which give null where they have no value.
Query calls_of(Table const& table, std::vector<std::string> const& functions) {
  std::vector<NamedExpression> columns{{"a", column("a")}, {"b", column("b")}};
  for (auto const& function : functions) {
    bool const is_unary = function == "negate" || function == "abs";
    auto value = call(function, is_unary ? std::vector{column("a")} : std::vector{column("a"), column("b")});
    value.null_on_failure = true;
    columns.push_back({function, std::move(value)});
  }
  return Query::scan(table.view()).project(std::move(columns));
}

template <class T>
std::vector<T> integer_edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> edges{0,
                       1,
                       2,
                       3,
                       7,
                       10,
                       100,
                       Limits::max(),
                       static_cast<T>(Limits::max() - 1),
                       Limits::min(),
                       static_cast<T>(Limits::min() + 1),
                       static_cast<T>(Limits::max() / 2),
                       static_cast<T>(Limits::max() / 3)};
  if (std::is_signed_v<T>) edges.insert(edges.end(), {static_cast<T>(-1), static_cast<T>(-2), static_cast<T>(-100)});
  return edges;
}

template <class T>
std::vector<T> float_edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> edges;
  for (auto const value : {T{0},
                           T{1},
                           T{0.1},
                           T{3},
                           T{1} / T{3},
                           T{1.5},
                           T{16'777'216},
                           T{1e30},
                           T{1e-30},
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::denorm_min() * 3,
                           Limits::min() / 2,
                           Limits::max(),
                           Limits::epsilon(),
                           T{1} + Limits::epsilon(),
                           T{1} - Limits::epsilon() / 2,
                           Limits::infinity(),
                           std::sqrt(Limits::max()),
                           std::sqrt(Limits::min()),
                           std::nextafter(std::sqrt(Limits::min()), T{0})}) {
    edges.push_back(value);
    edges.push_back(-value);
  }
  edges.push_back(Limits::quiet_NaN());
  return edges;
}

TEST_F(DeviceQueries, IntegersOfEveryWidth) {
  std::vector<std::string> const functions{"add",   "subtract", "multiply", "divide", "modulus",  "negate",  "abs",
                                           "equal", "lt",       "gte",      "least",  "greatest", "coalesce"};
  for (auto const& options : device_paths()) {
    auto const check = [&]<class T>(TypeId id, T) {
      auto const table = pairs_of<T>(typed(id), integer_edges<T>());
      EXPECT_EQ(compare(calls_of(table, functions), options, to_string(typed(id))), 1U);
    };
    check(TypeId::int8, std::int8_t{});
    check(TypeId::int16, std::int16_t{});
    check(TypeId::int32, std::int32_t{});
    check(TypeId::int64, std::int64_t{});
    check(TypeId::uint8, std::uint8_t{});
    check(TypeId::uint16, std::uint16_t{});
    check(TypeId::uint32, std::uint32_t{});
    check(TypeId::uint64, std::uint64_t{});
  }
}

TEST_F(DeviceQueries, FloatsHaveTheBitsOfTheHost) {
  std::vector<std::string> const functions{"add", "subtract", "multiply", "divide", "negate",
                                           "abs", "equal",    "lt",       "least",  "greatest"};
  for (auto const& options : device_paths()) {
    auto const doubles = pairs_of<double>(typed(TypeId::float64), float_edges<double>());
    EXPECT_EQ(compare(calls_of(doubles, functions), options, "float64"), 1U);
    auto const floats = pairs_of<float>(typed(TypeId::float32), float_edges<float>());
    EXPECT_EQ(compare(calls_of(floats, functions), options, "float32"), 1U);
    for (auto const* const table : {&doubles, &floats}) {
      std::vector<NamedExpression> casts;
      for (auto const id : {TypeId::float32, TypeId::float64, TypeId::int8, TypeId::uint16, TypeId::int32,
                            TypeId::uint32, TypeId::int64, TypeId::uint64, TypeId::boolean})
        casts.push_back({to_string(typed(id)), cast(column("a"), typed(id), true)});
      EXPECT_EQ(compare(Query::scan(table->view()).project(casts), options, "casts"), 1U);
    }
  }
}

TEST_F(DeviceQueries, RandomExpressionsHaveTheBitsOfTheHost) {
  for (auto options : device_paths()) {
    options.threads = 1;  // of several expressions that fail, threads would say the one that they come to first
    std::size_t compared = 0;
    std::size_t on_device = 0;
    auto const first = testing::first_seed(1);
    auto const cases = testing::random_cases(Path::compute, 0, 60);
    for (auto seed = first; seed < first + cases && !HasFailure(); ++seed) {
      testing::Draw draw(seed);
      auto const table = testing::random_table("a", draw.of<std::size_t>({0, 1, 1'023, 1'024, 1'025}), draw);
      testing::RandomExpressions random(table.schema(), draw.one_in(4), true, draw);
      std::vector<NamedExpression> columns;
      for (std::size_t i = 0; i < 4; ++i) columns.push_back({"e" + std::to_string(i), random.any(3)});
      auto const scan = Query::scan(table.view());
      for (auto const& one : columns) {
        on_device += compare(scan.project({one}), options, "seed " + std::to_string(seed));
        ++compared;
      }
      on_device += compare(scan.filter(random.predicate(3)), options, "seed " + std::to_string(seed));
      ++compared;
    }
    std::cout << compared << " queries, " << on_device << " of them on the device\n";
    if (cases >= 20) EXPECT_GT(on_device, compared / 4);
  }
}

/// TPC-H's sixth query, and the first, over a part of its columns.
std::vector<Query> revenue_queries(Query const& scan) {
  auto const revenue = call("multiply", {column("price"), column("discount")});
  auto const discounted =
      call("multiply", {column("price"), call("subtract", {decimal(100, 3, 2), column("discount")})});
  return {scan.filter(call("and", {call("gte", {column("day"), day(8'766)}), call("lt", {column("day"), day(9'131)}),
                                   call("between", {column("discount"), decimal(5, 15, 2), decimal(7, 15, 2)})}))
              .group_by({}, {{"revenue", AggregateFunction::sum, {revenue}}}),
          scan.filter(call("lte", {column("day"), day(10'400)}))
              .group_by({{"flag", column("flag")}}, {{"sum", AggregateFunction::sum, {discounted}},
                                                     {"mean", AggregateFunction::mean, {column("price")}},
                                                     {"n", AggregateFunction::count, {}}}),
          scan.filter(call("gt", {column("discount"), decimal(3, 15, 2)}))
              .project({{"year", call("extract", {literal(std::string("year")), column("day")})}, {"r", revenue}})
              .group_by({{"year", column("year")}}, {{"r", AggregateFunction::max, {column("r")}}})};
}

TEST_F(DeviceQueries, FiltersProjectionsAndGroupsStayOnTheDevice) {
  for (auto const& options : device_paths()) {
    auto strict = options;
    strict.strict = true;
    for (auto const rows : {0U, 1U, 1'023U, 1'025U, 20'000U}) {
      auto const table = items(rows);
      for (auto const& query : revenue_queries(Query::scan(table.view())))
        EXPECT_GE(compare(query, strict, std::to_string(rows) + " rows"), 3U);
    }
  }
}

/// The reasons of the operators of a plan.
std::string reasons_of(Plan const& plan) {
  auto reasons = plan.reason + "\n";
  for (auto const& input : plan.inputs) reasons += reasons_of(input);
  return reasons;
}

std::uint64_t counter_of(QueryResult const& result, std::string const& name) {
  for (auto const& [counter, value] : result.stats().counters)
    if (counter == name) return value;
  return 0;
}

TEST_F(DeviceQueries, FiltersAndColumnsRunOnThePathThatWasAskedFor) {
  auto const table = items(1'025);
  auto const query = revenue_queries(Query::scan(table.view())).back();
  for (auto options : device_paths()) {
    options.strict = true;
    auto const result = engine().run(query, options);
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_EQ(operations_on(options.path, (*result)->plan()),
              (std::vector<std::string>{"group-by", "project", "project", "filter"}));
    if (options.path != Path::graphics) continue;
    EXPECT_GE(counter_of(**result, "points"), 1'025U);
    EXPECT_TRUE(std::ranges::any_of((*result)->stats().phases,
                                    [](PhaseStats const& phase) { return phase.name == "draw rows"; }));
    EXPECT_NE(to_json((*result)->plan()).find("those that fail are clipped"), std::string::npos);
  }
}

TEST_F(DeviceQueries, DevicesWithoutAddressesFilterOnTheHost) {
  auto const table = items(1'025);
  auto const query = revenue_queries(Query::scan(table.view())).back();
  for (auto options : all_paths<QueryOptions>()) {
    if (options.path != Path::graphics || has_addresses(options)) continue;
    EXPECT_EQ(compare(query, options, "without addresses"), 1U);
    auto const plan = outcome_of(query, options).plan;
    EXPECT_NE(reasons_of(plan).find("bufferDeviceAddress"), std::string::npos) << reasons_of(plan);
    options.strict = true;
    EXPECT_NE(outcome_of(query, options).error.find("path graphics: "), std::string::npos);
  }
}

TEST_F(DeviceQueries, RowsAreDrawnInWindowsWhereMemoryIsShort) {
  constexpr std::size_t kRows = 20'000;
  auto const table = items(kRows);
  auto const price = call("multiply", {column("price"), call("subtract", {decimal(100, 3, 2), column("discount")})});
  auto divided = call("divide", {column("price"), column("discount")});
  divided.null_on_failure = true;
  auto const query = Query::scan(table.view())
                         .filter(call("gt", {column("discount"), decimal(3, 15, 2)}))
                         .project({{"price", price}, {"divided", divided}, {"day", column("day")}});
  for (auto options : device_paths()) {
    if (options.path != Path::graphics) continue;
    // The columns take 1.2 MB, so that an image holds few thousand rows of the memory that a pass may take.
    options.device_memory_limit_bytes = 1'300'000;
    EXPECT_EQ(compare(query, options, "in windows"), 2U);
    auto const result = engine().run(query, options);
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_GE(counter_of(**result, "passes"), 5U);
  }
}

TEST_F(DeviceQueries, JoinsTakeRowsThatAreThere) {
  auto const table = items(3'000);
  auto const scan = Query::scan(table.view());
  auto const days = scan.filter(call("lt", {column("discount"), decimal(2, 15, 2)}))
                        .group_by({{"day", column("day")}}, {{"n", AggregateFunction::count, {}}});
  auto const joined =
      scan.filter(call("gt", {column("price"), decimal(1'000'000, 15, 2)}))
          .join(days, {JoinKind::inner, {{column("day"), column("day")}}})
          .group_by({{"flag", column("flag")}},
                    {{"sum", AggregateFunction::sum, {call("multiply", {column("price"), column("n")})}}});
  for (auto options : device_paths()) {
    options.strict = true;
    EXPECT_GE(compare(joined, options, "joined"), 6U);
  }
}

/// Texts with what patterns may meet: one as plain texts, one as a dictionary with a null, one of few values.
Table texts() {
  std::vector<std::optional<std::string>> const values{"",
                                                       "a",
                                                       "ab",
                                                       "abc",
                                                       "abcd",
                                                       "abcde",
                                                       "b",
                                                       "ba",
                                                       "aab",
                                                       "aaab",
                                                       "%",
                                                       "a%b",
                                                       "a_b",
                                                       "special requests",
                                                       "special  packages requests",
                                                       "é",
                                                       "éa",
                                                       "aé",
                                                       "日本語",
                                                       "a日b",
                                                       std::nullopt,
                                                       "MAIL",
                                                       "SHIP",
                                                       "MAIL ",
                                                       "mail",
                                                       "\xF0\x9F\x98\x80",
                                                       "x\xF0\x9F\x98\x80y",
                                                       "abab",
                                                       "abababc",
                                                       "PROMO BRASS"};
  std::vector<std::optional<std::int32_t>> codes;
  std::vector<std::optional<std::string>> others;
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes.push_back(i % 7 == 3 ? std::nullopt : std::optional(static_cast<std::int32_t>((i * 5) % values.size())));
    others.push_back(values[(i + i / 3) % values.size()]);
  }
  std::vector const columns{reference::make_strings(values, TypeId::utf8),
                            reference::make_dictionary(codes, reference::make_strings(values, TypeId::utf8)),
                            reference::make_strings(others, TypeId::utf8)};
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return Table(Schema{{"a", columns[0].type, true}, {"b", columns[1].type, true}, {"c", columns[2].type, true}},
               std::move(batches));
}

TEST_F(DeviceQueries, TextsAreComparedAndMatched) {
  auto const table = texts();
  std::vector<ScalarExpression> tests;
  for (auto const* const pattern : {"", "%", "a%", "%b", "%a%b%", "_", "__", "a_b", "%_b", "_%_", "%special%requests%",
                                    "a%%c", "%ab_", "%é%", "_日_", "PROMO%", "%%"})
    for (std::size_t c = 0; c < 3; ++c) tests.push_back(call("like", {column(c), literal(std::string(pattern))}));
  tests.push_back(call("like", {column(0), literal(std::string("a#%b")), literal(std::string("#"))}));
  for (auto const* const part : {"", "a", "ab", "é", "special"})
    for (auto const* const function : {"starts_with", "ends_with", "contains"})
      for (std::size_t c = 0; c < 3; ++c) tests.push_back(call(function, {column(c), literal(std::string(part))}));
  for (auto const* const function : {"equal", "not_equal", "lt", "lte", "gt", "gte"}) {
    for (auto const* const text : {"", "ab", "abcd", "MAIL", "日本語"}) {
      tests.push_back(call(function, {column(0), literal(std::string(text))}));
      tests.push_back(call(function, {literal(std::string(text)), column(1)}));
    }
    tests.push_back(call(function, {column(0), column(2)}));
    tests.push_back(call(function, {column(1), column(0)}));
  }
  for (std::size_t c = 0; c < 3; ++c)
    tests.push_back(
        call("in", {column(c), literal(std::string("MAIL")), literal(std::string("é")), literal(std::string("abc"))}));
  tests.push_back(call("in", {column(0), literal(std::string("ab")), literal(Literal{typed(TypeId::utf8), {}})}));
  std::vector<NamedExpression> columns;
  for (auto const& test : tests) columns.push_back({"t" + std::to_string(columns.size()), test});
  auto const scan = Query::scan(table.view());
  for (auto const& options : device_paths()) {
    EXPECT_EQ(compare(scan.project(columns), options, "texts"), 1U);
    for (auto const& test : tests) EXPECT_EQ(compare(scan.filter(test), options, "texts"), 1U);
  }
}

TEST_F(DeviceQueries, ErrorsAreThoseOfTheHost) {
  auto const table = pairs_of<std::int64_t>(typed(TypeId::int64), integer_edges<std::int64_t>());
  auto const scan = Query::scan(table.view());
  auto const sum = call("add", {column("a"), column("b")});
  auto const asked = call("if", {call("lt", {column("a"), literal(std::int64_t{1'000})}), column("b"), sum});
  for (auto const& options : device_paths()) {
    for (auto const& query : {scan.project({{"sum", sum}}), scan.filter(call("gt", {sum, column("a")})),
                              scan.project({{"q", call("divide", {column("a"), column("b")})}})}) {
      EXPECT_NE(outcome_of(query, options).error, "");
      compare(query, options, "failing");
    }
    compare(scan.project({{"asked", asked}}), options, "asked");
  }
}

}  // namespace
}  // namespace garuda
