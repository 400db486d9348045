// Aggregates beyond count, sum, min, max and mean through the public API: whole results of every path against the
// oracle, whatever the plan.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/group_by.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/workloads/group_tables.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using reference::TextTable;
using testing::GroupSpread;
using testing::GroupTableCase;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

bool is_number(std::string const& name) {
  return name.size() < 5 && name != "date" && name != "time" && name != "s" && name != "b" && name != "dict";
}

/// Every aggregate of every column that has it, pairs with the column before.
std::vector<Aggregate> every_aggregate() {
  using F = AggregateFunction;
  std::vector<Aggregate> all;
  std::string number = "f64";
  std::string any = "s";
  auto const add = [&](F function, std::string const& column, std::optional<std::string> second = {}) -> Aggregate& {
    all.push_back({function, column, std::nullopt, std::move(second)});
    return all.back();
  };
  auto names = testing::value_columns();
  names.insert(names.end(), testing::odd_columns().begin(), testing::odd_columns().end());
  for (auto const& name : names) {
    for (auto const function : {F::first, F::last, F::any, F::count_distinct}) add(function, name);
    for (auto const function : {F::arg_min, F::arg_max}) add(function, any, name);
    add(F::min_n, name).most = 3;
    add(F::max_n, name).most = 5;
    any = name;
    if (name == "b")
      for (auto const function : {F::bool_and, F::bool_or}) add(function, name);
    if (name == "b" || name == "f16" || name == "d256")
      for (auto const function : {F::min, F::max}) add(function, name);
    if (is_number(name) || name == "date" || name == "time") {
      add(F::median, name);
      for (auto const share : {0.0, 0.1, 0.75, 1.0}) add(F::quantile, name).quantile = share;
    }
    if (!is_number(name)) continue;
    for (auto const function : {F::var, F::var_pop, F::std_dev, F::std_dev_pop, F::sum, F::mean}) add(function, name);
    for (auto const function : {F::covar, F::covar_pop, F::corr}) add(function, number, name);
    number = name;
  }
  return all;
}

class Aggregates : public testing::EngineTest {
 protected:
  static Result<TextTable> run(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    auto result = engine().group_by(table, spec, options);
    if (!result) return propagate(std::move(result));
    GARUDA_TRY_ASSIGN(auto const grouped, collect(**result));
    return reference::read_table(grouped.view());
  }

  static void expect_result(TextTable const& expected, TableView table, GroupBySpec const& spec,
                            GroupByOptions const& options) {
    auto const actual = run(table, spec, options);
    ASSERT_TRUE(actual) << actual.error().describe();
    ASSERT_EQ(actual->names, expected.names);
    auto const left = spec.ordered ? *actual : reference::sorted(*actual);
    auto const right = spec.ordered ? expected : reference::sorted(expected);
    ASSERT_EQ(left.rows.size(), right.rows.size());
    for (std::size_t row = 0; row < left.rows.size(); ++row)
      for (std::size_t c = 0; c < expected.names.size(); ++c)
        ASSERT_EQ(left.rows[row][c], right.rows[row][c]) << "row " << row << " column " << expected.names[c];
  }

  /// Devices take the first of the tunings alone, but in full runs: wide products are many columns.
  static void expect_groups(TableView table, GroupBySpec const& spec, std::vector<char const*> const& tunings) {
    auto const expected = reference::reference_group_by(table, spec);
    for (auto const& base : all_paths<GroupByOptions>())
      for (auto const* tuning : tunings) {
        if (base.path != Path::cpu && tuning != tunings.front() && !testing::full_tests()) continue;
        SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning);
        auto options = base;
        auto const parsed = parse_group_by_tuning(tuning);
        ASSERT_TRUE(parsed) << tuning;
        options.tuning = *parsed;
        expect_result(expected, table, spec, options);
        if (HasFatalFailure()) return;
      }
  }

  static std::string error_of(TableView table, std::string const& aggregates, char const* tuning = "") {
    auto parsed = parse_aggregates(aggregates);
    if (!parsed) return parsed.error().message();
    GroupByOptions options;
    options.path = Path::cpu;
    options.tuning = *parse_group_by_tuning(tuning);
    auto const result = run(table, {{"k0"}, *parsed, false}, options);
    return result ? std::string("none") : result.error().message();
  }
};

TEST_F(Aggregates, EqualTheOracleWhateverThePlan) {
  for (bool const nulls : {false, true}) {
    if (!nulls && !testing::takes_large_case()) continue;
    GroupTableCase const group_case{230, 40, GroupSpread::uniform, 2, nulls, nulls ? 64 : 0, 61};
    auto const table = testing::make_table(group_case);
    GroupBySpec spec{{"k0", "k1"}, every_aggregate(), nulls};
    expect_groups(table.view(), spec,
                  {nulls ? "slice_rows=150" : "", "radix_bits=3,lanes=2", "slice_rows=50", "keys=words,chunk_rows=7"});
    if (HasFatalFailure()) return;
  }
}

TEST_F(Aggregates, OneGroupNoRowsAndEveryRow) {
  for (auto const& group_case : {GroupTableCase{257, 1, GroupSpread::uniform, 1, true, 100, 7},
                                 GroupTableCase{0, 1, GroupSpread::uniform, 1, true, 0, 7},
                                 GroupTableCase{65, 1, GroupSpread::every_row, 1, true, 0, 7}}) {
    SCOPED_TRACE(to_string(group_case));
    auto const table = testing::make_table(group_case);
    // The one half as one group, the other by a key.
    auto all = every_aggregate();
    std::vector<Aggregate> const half(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    expect_groups(table.view(), {{}, all, true}, {"", "slice_rows=33"});
    expect_groups(table.view(), {{"k0"}, half, true}, {"", "slice_rows=33"});
    if (HasFatalFailure()) return;
  }
}

TEST_F(Aggregates, EveryGroupingOfTheCpuPath) {
  std::vector<std::int64_t> keys, whole;
  std::vector<double> real;
  for (int row = 0; row < 900; ++row) {
    keys.push_back(row % 37);
    whole.push_back(std::int64_t{row} * row * 1'000'003 - 400'000'000'000);
    real.push_back(1e9 + std::ldexp(row % 11, row % 30 - 20));
  }
  auto const table = TestTable()
                         .add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), keys, {}})
                         .add(TestColumn<std::int64_t>{"i", type_of(TypeId::int64), whole, {}})
                         .add(TestColumn<double>{"x", type_of(TypeId::float64), real, {}})
                         .build();
  auto const parsed = parse_aggregates(
      "var:i,std_pop:x,covar:i:x,corr:x:i,corr:x:x=one,first:x,last:i,arg_min:i:x,arg_max:x:i,var_pop:x,sum:i");
  ASSERT_TRUE(parsed) << parsed.error().message();
  GroupBySpec const spec{{"k"}, *parsed, true};
  auto const expected = reference::reference_group_by(table.view(), spec);
  for (auto const* tuning : {"grouping=slices", "grouping=direct", "grouping=local", "grouping=partitioned"}) {
    SCOPED_TRACE(tuning);
    GroupByOptions options;
    options.path = Path::cpu;
    options.tuning = *parse_group_by_tuning(tuning);
    expect_result(expected, table.view(), spec, options);
  }
}

/// Lists that are bounded, and not, of values with nulls, NaNs and both zeros; groups with fewer values than a bound;
/// so many rows that they are partitioned.
TEST_F(Aggregates, ListsByEveryGroupingOfTheCpuPath) {
  constexpr int kRows = 60'000;
  std::vector<std::int32_t> keys, whole;
  std::vector<double> real;
  std::vector<std::string> text;
  std::vector<bool> valid, has_text;
  for (int row = 0; row < kRows; ++row) {
    keys.push_back(row % 10 == 0 ? 5'000 + row / 20 : row * 7 % 1'009);
    whole.push_back(row * 7'919 % 65'537 - 30'000);
    real.push_back(row % 31 == 0 ? std::nan("") : row % 17 == 0 ? -0.0 : row % 19 == 0 ? 0.0 : row * 37 % 1'001 / 8.0);
    valid.push_back(row % 23 != 0 && row % 1'009 != 7);
    text.push_back(std::to_string(row * 31 % 9'973));
    has_text.push_back(row % 29 != 0);
  }
  auto const table = TestTable()
                         .add(TestColumn<std::int32_t>{"k", type_of(TypeId::int32), keys, {}})
                         .add(TestColumn<std::int32_t>{"i", type_of(TypeId::int32), whole, {}})
                         .add(TestColumn<double>{"x", type_of(TypeId::float64), real, valid})
                         .add_text("t", text, has_text)
                         .build(kRows / 3);
  struct Case {
    char const* aggregates;
    std::vector<char const*> tunings;
  };
  std::vector<char const*> const all{"grouping=slices",      "grouping=direct",         "grouping=local",
                                     "grouping=partitioned", "grouping=direct,lanes=1", ""};
  for (auto const& [aggregates, tunings] :
       {Case{"min_n:i:1,max_n:i:2,min_n:x:2,max_n:x:16,min_n:t:3,max_n:t:2,sum:i", all},
        Case{"median:i,median:x,std:i,quantile:x:0.3,count_distinct:t,count_distinct:x,min_n:i:17,max_n:x:2,count:x",
             {"grouping=slices", "grouping=partitioned", ""}}}) {
    auto const parsed = parse_aggregates(aggregates);
    ASSERT_TRUE(parsed) << parsed.error().message();
    GroupBySpec const spec{{"k"}, *parsed, true};
    auto const expected = reference::reference_group_by(table.view(), spec);
    for (auto const* tuning : tunings) {
      SCOPED_TRACE(tuning);
      GroupByOptions options;
      options.path = Path::cpu;
      options.tuning = *parse_group_by_tuning(tuning);
      expect_result(expected, table.view(), spec, options);
    }
  }
}

/// Wide products of integers at the ends of their types, and of decimals of 38 digits.
TEST_F(Aggregates, MomentsAtTheEndsOfTypes) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  auto decimal = type_of(TypeId::decimal128);
  decimal.precision = 38;
  decimal.scale = -3;
  using Decimal = reference::Decimal128;
  Decimal const most{0x098A'223F'FFFF'FFFF, 0x4B3B'4CA8'5A86'C47A};  // 10^38 - 1
  Decimal const least{~most.low + 1, ~most.high};
  std::vector<double> const reals{1.7e308, -1.7e308, 5e-324, 2.5e-310, 1, 3};
  auto const table =
      TestTable()
          .add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), {1, 1, 1, 2, 2, 2}, {}})
          .add(TestColumn<std::int64_t>{"i", type_of(TypeId::int64), {kMin, kMax, 0, kMin, kMin, kMin}, {}})
          .add(TestColumn<std::uint64_t>{"u", type_of(TypeId::uint64), {~0ULL, 0, ~0ULL, 7, 1, ~0ULL - 1}, {}})
          .add(TestColumn<Decimal>{"d", decimal, {most, least, {0, 0}, most, most, {1, 0}}, {}})
          .add(TestColumn<double>{"x", type_of(TypeId::float64), reals, {}})
          .build();
  std::string text;
  for (auto const* x : {"i", "u", "d", "x"}) {
    for (auto const* function : {"var", "var_pop", "std", "std_pop"}) text += std::string(function) + ":" + x + ",";
    for (auto const* y : {"i", "u", "d", "x"})
      for (auto const* function : {"covar", "covar_pop", "corr"})
        text += std::string(function) + ":" + x + ":" + y + ",";
  }
  text.pop_back();
  auto const parsed = parse_aggregates(text);
  ASSERT_TRUE(parsed) << parsed.error().message();
  expect_groups(table.view(), {{"k"}, *parsed, true}, {"", "slice_rows=2"});
}

/// Products of integers of 31, 32, 63, 64 and more bits, of types of every width.
TEST_F(Aggregates, MomentsAtTheEndsOfWords) {
  auto const table =
      TestTable()
          .add(TestColumn<std::int32_t>{"k", type_of(TypeId::int32), {1, 1, 1, 2, 2, 2, 2}, {}})
          .add(TestColumn<std::int8_t>{"bits7", type_of(TypeId::int8), {-127, 127, 3, 0, -1, 5, 127}, {}})
          .add(TestColumn<std::int16_t>{"bits15", type_of(TypeId::int16), {32767, -32767, 1, 7, 0, 2, -32767}, {}})
          .add(TestColumn<std::uint16_t>{"bits16", type_of(TypeId::uint16), {65535, 0, 65535, 2, 3, 65535, 65535}, {}})
          .add(TestColumn<std::int32_t>{"bits31", type_of(TypeId::int32), {2147483647, -2147483647, 5, 6, 7, 8, 9}, {}})
          .add(TestColumn<std::int64_t>{
              "bits32", type_of(TypeId::int64), {-4294967295, 4294967295, 0, 1, -4294967295, 2, 3}, {}})
          .add(TestColumn<std::uint64_t>{
              "bits33", type_of(TypeId::uint64), {8589934591, 8589934591, 0, 1, 8589934591, 2, 3}, {}})
          .add(TestColumn<std::int64_t>{"zeros", type_of(TypeId::int64), std::vector<std::int64_t>(7), {}})
          .build(3);
  std::string text;
  auto const names = {"bits7", "bits15", "bits16", "bits31", "bits32", "bits33", "zeros"};
  for (std::string const x : names) {
    text += "var:" + x + ",";
    for (std::string const y : names) text += "covar:" + x + ":" + y + ",corr:" + x + ":" + y + ",";
  }
  text.pop_back();
  auto const parsed = parse_aggregates(text);
  ASSERT_TRUE(parsed) << parsed.error().message();
  expect_groups(table.view(), {{"k"}, *parsed, true}, {"", "grouping=partitioned", "slice_rows=2"});
}

/// Numbers without signs, whose sums of products share words of 64 bits, up to the last bit and not beyond.
TEST_F(Aggregates, SumsThatShareWords) {
  constexpr std::size_t kRows = 9;
  auto const column = [](char const* name, TypeId type, auto most) {
    using T = decltype(most);
    std::vector<T> values(kRows, most);
    for (std::size_t row = 2; row < kRows; row += 3) values[row] = static_cast<T>(row % 4);
    return TestColumn<T>{name, type_of(type), std::move(values), {}};
  };
  auto const table = TestTable()
                         .add(TestColumn<std::int32_t>{"k", type_of(TypeId::int32), {1, 1, 2, 1, 1, 2, 1, 1, 3}, {}})
                         .add(column("bits3", TypeId::int8, std::int8_t{5}))
                         .add(column("bits8", TypeId::uint8, std::uint8_t{255}))
                         .add(column("bits16", TypeId::uint16, std::uint16_t{65535}))
                         .add(column("bits28", TypeId::int64, std::int64_t{268435455}))
                         .add(column("bits31", TypeId::int32, std::int32_t{2147483647}))
                         .add(column("bits32", TypeId::uint32, std::uint32_t{4294967295}))
                         .build(4);
  std::string text = "sum:bits3,mean:bits31";
  auto const names = {"bits3", "bits8", "bits16", "bits28", "bits31", "bits32"};
  for (std::string const x : names) {
    text += ",var:" + x + ",std_pop:" + x;
    for (std::string const y : names) text += ",covar:" + x + ":" + y + ",corr:" + x + ":" + y;
  }
  auto const parsed = parse_aggregates(text);
  ASSERT_TRUE(parsed) << parsed.error().message();
  expect_groups(table.view(), {{"k"}, *parsed, true}, {"", "grouping=partitioned", "grouping=local", "slice_rows=2"});
  // All five sums of this correlation take 60 bits.
  auto const one = parse_aggregates("corr:bits3:bits8");
  GroupByOptions options;
  options.path = Path::cpu;
  auto const plan = engine().explain_group_by(table.view(), {{"k"}, *one, true}, options);
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_NE(to_string(*plan).find("into 1 columns of integers"), std::string::npos) << to_string(*plan);
}

TEST_F(Aggregates, SpecialFloatsTiesAndProducts) {
  auto const nan = std::nan("");
  auto const inf = HUGE_VAL;
  auto const table =
      TestTable()
          .add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), {1, 1, 1, 2, 2, 2, 3, 3, 3, 4}, {}})
          .add(TestColumn<double>{"x", type_of(TypeId::float64), {nan, 1, -0.0, inf, 2, -inf, 0.0, -0.0, 5, 8}, {}})
          .add(TestColumn<double>{"y", type_of(TypeId::float64), {1, 2, 3, 4, 5, 6, 7, 7, 7, 9}, {}})
          .add(TestColumn<std::int64_t>{"i",
                                        type_of(TypeId::int64),
                                        {3, -4, std::int64_t{1} << 61, 1LL << 40, 1LL << 40, 0, -1, 7, 7, 0},
                                        {true, true, false, true, true, true, true, true, true, false}})
          .build();
  auto const parsed = parse_aggregates(
      "var:x,std_pop:x,corr:x:y,corr:y:x=back,covar:x:y,median:x,quantile:x:0.3,count_distinct:x,min_n:x:2,max_n:x:2,"
      "arg_min:x:y,arg_max:x:y,arg_min:y:x=ties,arg_max:y:x=nans,product:i,first:i,last:i,any:i,arg_min:i:x,var:i");
  ASSERT_TRUE(parsed) << parsed.error().message();
  expect_groups(table.view(), {{"k"}, *parsed, true}, {"", "slice_rows=2", "radix_bits=2"});
}

TEST_F(Aggregates, ProductsBeyondTheirTypeNameTheGroup) {
  auto const product_of = [&](std::vector<std::int64_t> values) {
    auto const table = TestTable()
                           .add(TestColumn<std::int64_t>{
                               "k0", type_of(TypeId::int64), std::vector<std::int64_t>(values.size(), 5), {}})
                           .add(TestColumn<std::int64_t>{"x", type_of(TypeId::int64), values, {}})
                           .build();
    return error_of(table.view(), "product:x");
  };
  EXPECT_EQ(product_of({std::int64_t{1} << 62, 2}), "'product_x' is beyond int64 in the group k0 = 5");
  EXPECT_EQ(product_of({std::int64_t{1} << 62, 2, -3, 5, 7}), "'product_x' is beyond int64 in the group k0 = 5");
  EXPECT_EQ(product_of({std::int64_t{1} << 62, -2}), "none");
  EXPECT_EQ(product_of({std::int64_t{1} << 62, 2, 0}), "none");
  EXPECT_EQ(product_of({std::numeric_limits<std::int64_t>::min(), 1}), "none");
  EXPECT_EQ(product_of({std::numeric_limits<std::int64_t>::min(), -1}),
            "'product_x' is beyond int64 in the group k0 = 5");
}

TEST_F(Aggregates, TypesAndNamesOfTheResult) {
  auto const table = testing::make_table({10, 3, GroupSpread::uniform, 1, false, 0});
  auto const parsed = parse_aggregates(
      "var:i8,corr:i8:f64,count_distinct:s,first:s,arg_min:date:d128,median:d32,median:time,quantile:i16:0.25,"
      "min_n:date:2,max_n:dict:3=top,product:u8,bool_and:b");
  ASSERT_TRUE(parsed) << parsed.error().describe();
  auto const result = engine().group_by(table.view(), {{"k0"}, *parsed, false});
  ASSERT_TRUE(result) << result.error().describe();
  std::vector<std::string> columns;
  for (auto const& field : (*result)->schema()) columns.push_back(field.name + " " + to_string(field.type));
  std::vector<std::string> const expected{"k0 int32",
                                          "var_i8 float64",
                                          "corr_i8_f64 float64",
                                          "count_distinct_s int64",
                                          "first_s utf8",
                                          "arg_min_date_d128 date32",
                                          "median_d32 float64",
                                          "median_time timestamp[us]",
                                          "quantile_i16_0.25 float64",
                                          "min_n_date_2 list<item: date32>",
                                          "top list<item: dictionary<int32, utf8>>",
                                          "product_u8 uint64",
                                          "bool_and_b bool"};
  EXPECT_EQ(columns, expected);
}

TEST_F(Aggregates, RefuseWhatTheyCannotDo) {
  auto const table = testing::make_table({100, 64, GroupSpread::uniform, 1, false, 0});
  auto const error = [&](char const* text, char const* tuning = "") { return error_of(table.view(), text, tuning); };
  EXPECT_EQ(error("var:s"), "var is not defined for column 's' of type utf8");
  EXPECT_EQ(error("median:b"), "median is not defined for column 'b' of type bool");
  EXPECT_EQ(error("product:f64"), "product is not defined for column 'f64' of type float64");
  EXPECT_EQ(error("bool_or:i8"), "bool_or is not defined for column 'i8' of type int8");
  EXPECT_EQ(error("covar:i8:date"), "covar is not defined for a second column 'date' of type date32");
  EXPECT_EQ(error("covar:i8"), "covar wants two columns, as in x:y: covar:i8");
  EXPECT_EQ(error("arg_min"), "aggregate needs a column: arg_min");
  EXPECT_EQ(error("quantile:i8:2"), "quantile wants a column and a number within [0, 1], as in x:0.9: quantile_i8_2");
  EXPECT_EQ(error("quantile:i8:nan"),
            "quantile wants a column and a number within [0, 1], as in x:0.9: quantile_i8_nan");
  EXPECT_EQ(error("quantile:i8:x"), "quantile wants a column and a number within [0, 1], as in x:0.9: quantile:i8:x");
  EXPECT_EQ(error("min_n:i8:0"), "min_n wants a column and how many values, 1 to 2147483647, as in x:3: min_n_i8_0");
  EXPECT_NE(error("corr:i8:nope").find("nope"), std::string::npos);
  EXPECT_EQ(error("median:i8", "grouping=direct"),
            "only grouping=partitioned and grouping=slices keep all values of groups, as some of the aggregates want");
  // Lists ride along.
  auto const lists = engine().group_by(table.view(), {{"k0"}, *parse_aggregates("min_n:i8:2"), false});
  ASSERT_TRUE(lists);
  auto const listed = collect(**lists);
  ASSERT_TRUE(listed);
  EXPECT_TRUE(engine().group_by(listed->view(), {{"k0"}, *parse_aggregates("count"), false}));
  EXPECT_EQ(error_of(listed->view(), "min:min_n_i8_2"),
            "min is not defined for column 'min_n_i8_2' of type list<item: int8>");
}

TEST_F(Aggregates, ThePlanSaysWhatTheHostDoes) {
  auto const table = testing::make_table({100, 64, GroupSpread::uniform, 1, false, 0});
  GroupByOptions options;
  options.path = Path::cpu;
  auto const plan =
      engine().explain_group_by(table.view(), {{"k0"}, *parse_aggregates("median:i8,var:i16,max:i8"), false}, options);
  ASSERT_TRUE(plan) << plan.error().describe();
  auto const text = to_string(*plan);
  EXPECT_NE(text.find("median_i8: on the host"), std::string::npos) << text;
  EXPECT_NE(text.find("var_i16: of exact sums"), std::string::npos) << text;
}

}  // namespace
}  // namespace garuda
