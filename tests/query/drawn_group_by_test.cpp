// Group-bys whose draws evaluate the filter and the expressions below them, against those of the host.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/query/device_queries.hpp"
#include "tests/query/random_expressions.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda {
namespace {

using reference::typed;
using testing::decimal;

class DrawnGroupBys : public testing::DeviceQueryTest {
 protected:
  static std::vector<QueryOptions> drawn_paths() {
    auto paths = device_paths();
    std::erase_if(paths, [](QueryOptions const& options) { return options.path != Path::graphics; });
    return paths;
  }

  /// Compares on every device, which has to draw what is below the group-by.
  static void compare_drawn(Query const& query, std::string const& what,
                            std::vector<std::string> const& operations = {"group-by", "filter"}) {
    for (auto const& options : drawn_paths()) compare_on(options, query, what, operations);
  }

  static void compare_on(QueryOptions options, Query const& query, std::string const& what,
                         std::vector<std::string> const& operations) {
    options.strict = true;
    auto const plan = compared(query, options, what);
    auto ran = testing::operations_on(Path::graphics, plan);
    std::erase(ran, "project");
    EXPECT_EQ(ran, operations) << what << "\n" << testing::to_text(query);
    EXPECT_NE(to_json(plan).find("drawn by the group-by"), std::string::npos)
        << what << "\n"
        << testing::to_text(query) << to_json(plan);
  }
};

double float_of(testing::Draw& draw) {
  auto const special = std::numeric_limits<double>::quiet_NaN();
  switch (draw.below(12)) {
    case 0:
      return special;
    case 1:
      return -0.0;
    case 2:
      return std::numeric_limits<double>::infinity();
    default:
      return (static_cast<double>(draw.below(2'000'000)) - 1e6) * (draw.one_in(3) ? 1e-9 : 3.25);
  }
}

/// Values of every kind that is blended, and keys of several, with nulls: `rows` rows in each of two batches, around an
/// empty one.
Table mixed(std::size_t rows) {
  testing::Draw draw(11);
  auto const dec = typed(TypeId::decimal128, 15, 2);
  Schema const schema{{"id", typed(TypeId::int32)},
                      {"text", typed(TypeId::utf8), true},
                      {"wide", typed(TypeId::int64), true},
                      {"far", typed(TypeId::int64)},
                      {"whole", typed(TypeId::int64), true},
                      {"small", typed(TypeId::int8)},
                      {"money", dec, true},
                      {"share", dec},
                      {"real", typed(TypeId::float64), true},
                      {"single", typed(TypeId::float32)}};
  std::vector<Batch> batches;
  for (auto const count : {rows, std::size_t{0}, rows}) {
    std::vector<std::int32_t> ids;
    std::vector<std::optional<std::string>> texts;
    std::vector<std::optional<std::int64_t>> wides;
    std::vector<std::int64_t> fars;
    std::vector<std::optional<std::int64_t>> wholes;
    std::vector<std::int8_t> smalls;
    std::vector<std::optional<__int128>> moneys;
    std::vector<std::optional<__int128>> shares;
    std::vector<std::optional<double>> reals;
    std::vector<float> singles;
    auto const null_or = [&](auto value) { return draw.one_in(9) ? std::nullopt : std::optional(value); };
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(static_cast<std::int32_t>(draw.below(37)));
      texts.push_back(null_or(draw.of<std::string>({"", "AIR", "MAIL", "a text of more than sixteen bytes", "日本"})));
      wides.push_back(null_or(static_cast<std::int64_t>(draw.below(5)) << 60));
      fars.push_back(static_cast<std::int64_t>(draw.below(7)) * 1'234'567'890'123'456'789);
      wholes.push_back(null_or(static_cast<std::int64_t>(draw.below(1'000'000)) - 500'000));
      smalls.push_back(static_cast<std::int8_t>(draw.below(200)));
      moneys.push_back(null_or(static_cast<__int128>(draw.below(10'000'000)) - 5'000'000));
      shares.emplace_back(static_cast<__int128>(draw.below(11)));
      reals.push_back(null_or(float_of(draw)));
      singles.push_back(static_cast<float>(float_of(draw)));
    }
    batches.push_back(reference::make_batch(std::vector{
        reference::make_column(schema[0].type, ids, 0), reference::make_strings(texts, TypeId::utf8),
        reference::make_column(schema[2].type, wides, 0), reference::make_column(schema[3].type, fars, 0),
        reference::make_column(schema[4].type, wholes, 0), reference::make_column(schema[5].type, smalls, 0),
        reference::make_column<__int128>(dec, moneys, 0), reference::make_column<__int128>(dec, shares, 0),
        reference::make_column(schema[8].type, reals, 0), reference::make_column(schema[9].type, singles, 0)}));
  }
  return Table(schema, std::move(batches));
}

std::vector<ScalarExpression> filters() {
  return {call("lt", {column("id"), literal(std::int64_t{20})}),
          call("or", {call("equal", {column("text"), literal(std::string("MAIL"))}),
                      call("like", {column("text"), literal(std::string("%than%"))})}),
          call("gt", {column("real"), literal(0.5)}),
          call("and", {call("is_not_null", {column("money")}), call("gte", {column("share"), decimal(5, 15, 2)})}),
          call("lt", {column("id"), literal(std::int64_t{-1})}),
          call("gte", {column("id"), literal(std::int64_t{0})})};
}

std::vector<std::vector<NamedExpression>> keys() {
  NamedExpression const id{"id", column("id")};
  NamedExpression const text{"text", column("text")};
  NamedExpression const wide{"wide", column("wide")};
  NamedExpression const far{"far", column("far")};
  return {{id}, {text}, {id, text}, {wide, far, text}};
}

/// Aggregates of columns, as they are.
std::vector<AggregateCall> plain() {
  return {{"n", AggregateFunction::count, {}},
          {"texts", AggregateFunction::count, {column("text")}},
          {"whole", AggregateFunction::sum, {column("whole")}},
          {"money", AggregateFunction::mean, {column("money")}},
          {"least", AggregateFunction::min, {column("real")}},
          {"real", AggregateFunction::sum, {column("real")}},
          {"first", AggregateFunction::first, {column("text")}}};
}

/// Aggregates of what expressions compute.
std::vector<AggregateCall> computed() {
  auto const paid = call("multiply", {column("money"), call("subtract", {decimal(100, 15, 2), column("share")})});
  auto const twice = call("multiply", {column("real"), literal(2.0)});
  auto const more = call("add", {column("whole"), literal(std::int64_t{7})});
  auto const single = call("add", {column("single"), column("single")});
  return {{"paid", AggregateFunction::sum, {paid}},
          {"mean", AggregateFunction::mean, {paid}},
          {"most", AggregateFunction::max, {paid}},
          {"twice", AggregateFunction::sum, {twice}},
          {"least", AggregateFunction::min, {twice}},
          {"more", AggregateFunction::sum, {more}},
          {"values", AggregateFunction::count, {more}},
          {"single", AggregateFunction::sum, {single}},
          {"greatest", AggregateFunction::max, {single}},
          {"small", AggregateFunction::min, {call("divide", {column("small"), literal(std::int64_t{3})})}}};
}

TEST_F(DrawnGroupBys, RowsThatFailAreClipped) {
  for (auto const rows : {0U, 1U, 600U}) {
    auto const table = mixed(rows);
    for (auto const& filter : filters())
      for (auto const& key : keys())
        if (rows > 0 || key.size() == 1)
          compare_drawn(Query::scan(table.view()).filter(filter).group_by(key, plain()),
                        std::to_string(rows) + " rows");
  }
}

TEST_F(DrawnGroupBys, VerticesComputeValues) {
  auto const table = mixed(300);
  auto const scan = Query::scan(table.view());
  compare_drawn(scan.group_by(keys()[0], computed()), "without a filter", {"group-by"});
  for (auto const& key : {keys()[1], keys()[3]})
    compare_drawn(scan.filter(filters()[0]).group_by(key, computed()), "computed");
}

TEST_F(DrawnGroupBys, RowsWithoutKeysAreOneGroup) {
  auto aggregates = computed();
  aggregates.push_back({"n", AggregateFunction::count, {}});
  aggregates.push_back({"whole", AggregateFunction::sum, {column("whole")}});
  auto const table = mixed(300);
  auto const one = mixed(1);
  auto const none = mixed(0);
  for (auto const* const rows : {&none, &one, &table})
    compare_drawn(Query::scan(rows->view()).filter(filters()[1]).group_by({}, aggregates), "some");
  for (auto const& filter : filters())
    compare_drawn(Query::scan(table.view()).filter(filter).group_by({}, {aggregates[3], aggregates.back()}), "two");
}

TEST_F(DrawnGroupBys, DistinctRowsAreThoseThatPass) {
  auto const table = mixed(500);
  for (auto const& filter : filters())
    compare_drawn(Query::scan(table.view()).filter(filter).group_by({{"id", column("id")}}, {}), "distinct");
}

TEST_F(DrawnGroupBys, SlicesAreMerged) {
  auto const table = mixed(700);
  auto aggregates = plain();
  for (auto const& call : computed()) aggregates.push_back(call);
  for (std::size_t a = 0; a < aggregates.size(); ++a) aggregates[a].name = "a" + std::to_string(a);
  for (auto options : drawn_paths()) {
    options.group_by_tuning.slice_rows = 600;
    for (std::size_t f = 0; f < filters().size(); ++f)
      compare_on(options, Query::scan(table.view()).filter(filters()[f]).group_by(keys()[f % 4], aggregates), "slices",
                 {"group-by", "filter"});
  }
}

TEST_F(DrawnGroupBys, ProjectionsBecomeOneExpression) {
  auto const table = mixed(300);
  auto const paid = call("multiply", {column("money"), call("subtract", {decimal(100, 15, 2), column("share")})});
  auto const below = Query::scan(table.view())
                         .filter(filters()[0])
                         .project({{"text", column("text")}, {"paid", paid}, {"share", column("share")}});
  auto const taxed = call("multiply", {column("paid"), call("add", {decimal(1, 3, 0), column("share")})});
  compare_drawn(below.group_by({{"text", column("text")}}, {{"paid", AggregateFunction::sum, {column("paid")}},
                                                            {"taxed", AggregateFunction::sum, {taxed}}}),
                "one expression");
  // The host computes what a choice leaves out, and so does a projection of its own.
  auto const quotient = call("divide", {column("whole"), column("id")});
  auto const chosen = call("if", {call("gt", {column("id"), literal(std::int64_t{0})}), column("q"), column("id")});
  auto const failing = Query::scan(table.view())
                           .project({{"id", column("id")}, {"q", quotient}})
                           .group_by({{"id", column("id")}}, {{"sum", AggregateFunction::sum, {chosen}}});
  for (auto const& options : drawn_paths()) {
    EXPECT_NE(outcome_of(failing, options).error, "");
    compare(failing, options, "a choice");
  }
}

TEST_F(DrawnGroupBys, RowsThatFailAskForNoValue) {
  auto const table = mixed(1'000);
  auto const scan = Query::scan(table.view());
  auto const quotient = call("divide", {column("whole"), column("id")});
  auto const positive = call("gt", {column("id"), literal(std::int64_t{0})});
  std::vector<AggregateCall> const sum{{"q", AggregateFunction::sum, {quotient}}};
  for (auto const& key : {std::vector<NamedExpression>{}, keys()[1]}) {
    compare_drawn(scan.filter(positive).group_by(key, sum), "no quotient by zero");
    for (auto const& options : drawn_paths()) {
      EXPECT_NE(outcome_of(scan.group_by(key, sum), options).error, "");
      compare(scan.group_by(key, sum), options, "a quotient by zero");
      compare(scan.filter(call("gt", {quotient, literal(std::int64_t{0})})).group_by(key, plain()), options,
              "a filter by zero");
    }
  }
}

TEST_F(DrawnGroupBys, OtherGroupBysTakeRowsThatAreThere) {
  auto const table = mixed(1'000);
  auto const passing = Query::scan(table.view()).filter(filters()[0]);
  auto const computed_key = call("add", {column("whole"), column("far")});
  for (auto const& options : device_paths()) {
    compare(passing.group_by({{"k", call("multiply", {column("id"), literal(std::int64_t{2})})}}, plain()), options,
            "");
    compare(passing.group_by(keys()[0], {{"v", AggregateFunction::var, {column("real")}},
                                         {"least", AggregateFunction::min, {column("text")}},
                                         {"q", AggregateFunction::median, {column("whole")}}}),
            options, "");
  }
}

}  // namespace
}  // namespace garuda
