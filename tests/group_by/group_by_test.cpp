// The group-by through the public API: whole results of every path against the oracle, whatever the plan.
#include "garuda/group_by.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/workloads/group_tables.hpp"
#include "tests/workloads/pairwise_cases.hpp"
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

class GroupBy : public testing::EngineTest {
 protected:
  /// All paths in a full run; else the CPU and one strategy of each device, the strategies taking turns.
  static std::vector<GroupByOptions> paths_of_turn(std::uint64_t turn) {
    auto all = all_paths<GroupByOptions>();
    if (testing::full_tests()) return all;
    auto const left_out = turn % 2 == 0 ? Path::graphics : Path::compute;
    std::erase_if(all, [&](auto const& options) { return options.path == left_out; });
    return all;
  }

  static Result<TextTable> run(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    auto result = engine().group_by(table, spec, options);
    if (!result) return propagate(std::move(result));
    GARUDA_TRY_ASSIGN(auto const grouped, collect(**result));
    EXPECT_EQ((*result)->stats().rows_out, static_cast<std::uint64_t>(grouped.num_rows()));
    return reference::read_table(grouped.view());
  }

  /// Runs in full and compares with the oracle's result: the multiset of rows, or their sequence.
  static void expect_result(TextTable const& expected, TableView table, GroupBySpec const& spec,
                            GroupByOptions const& options) {
    auto const actual = run(table, spec, options);
    ASSERT_TRUE(actual) << actual.error().describe();
    EXPECT_EQ(actual->names, expected.names);
    auto const left = spec.ordered ? *actual : reference::sorted(*actual);
    auto const right = spec.ordered ? expected : reference::sorted(expected);
    ASSERT_EQ(left.rows.size(), right.rows.size());
    for (std::size_t row = 0; row < left.rows.size(); ++row)
      for (std::size_t c = 0; c < expected.names.size(); ++c)
        ASSERT_EQ(left.rows[row][c], right.rows[row][c]) << "row " << row << " column " << expected.names[c];
  }

  static void expect_groups(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    expect_result(reference::reference_group_by(table, spec), table, spec, options);
  }

  static GroupByOptions with_tuning(GroupByOptions options, char const* tuning) {
    auto const parsed = parse_group_by_tuning(tuning);
    EXPECT_TRUE(parsed) << tuning;
    if (parsed) options.tuning = *parsed;
    return options;
  }
};

TEST_F(GroupBy, EqualsTheOracleWhateverThePlan) {
  GroupTableCase group_case{230, 40, GroupSpread::uniform, 4, true, 61};
  auto const table = testing::make_table(group_case);
  auto spec = testing::all_aggregates(group_case);
  auto const expected = reference::reference_group_by(table.view(), spec);
  std::uint64_t turn = 0;
  for (auto const& base : all_paths<GroupByOptions>())
    for (auto const* tuning :
         {"", "keys=words", "keys=rowid", "radix_bits=0", "radix_bits=3,lanes=1", "radix_bits=8,lanes=3,keys=words",
          "slice_rows=50", "slice_rows=20,radix_bits=2,chunk_rows=10", "chunk_rows=1,keys=rowid,slice_rows=7"})
      for (auto const ordered : {false, true}) {
        if (base.path != Path::cpu && *tuning != '\0' && !testing::takes_case(turn++)) continue;
        SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning + (ordered ? " ordered" : ""));
        spec.ordered = ordered;
        expect_result(expected, table.view(), spec, with_tuning(base, tuning));
      }
}

/// The axes of the group-by, for small and for larger tables.
struct Axes {
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> groups{1, 2, 64, 65'536};
  std::vector<GroupSpread> patterns{GroupSpread::uniform, GroupSpread::zipf_1_5, GroupSpread::one_heavy,
                                    GroupSpread::every_row};
  std::vector<std::uint32_t> keys{1, 2, 3, 5, 7, 9};
  std::vector<bool> nulls{false, true};
  std::vector<char const*> tunings{"", "keys=words", "keys=rowid", "radix_bits=4", "slice_rows=100"};
};

TEST_F(GroupBy, SmallTablesOnEveryAxis) {
  Axes const axes{{0, 1, 255, 257}};
  std::uint64_t next = 0;
  for (auto const rows : axes.rows)
    for (auto const groups : axes.groups)
      for (auto const pattern : axes.patterns)
        for (auto const keys : axes.keys)
          for (auto const nulls : axes.nulls) {
            if (pattern == GroupSpread::every_row && groups != 1) continue;
            if (rows < 2 && (groups > 2 || pattern == GroupSpread::zipf_1_5)) continue;
            if (!testing::takes_case(next++)) continue;
            GroupTableCase const group_case{rows, groups, pattern, keys, nulls, rows == 257 ? 100 : 0, 7};
            auto const table = testing::make_table(group_case);
            auto spec = testing::all_aggregates(group_case);
            spec.ordered = (rows + keys) % 2 == 0;
            auto const expected = reference::reference_group_by(table.view(), spec);
            auto const* const tuning = axes.tunings[(groups + keys + nulls) % axes.tunings.size()];
            for (auto const& base : paths_of_turn(next)) {
              SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning + " " + to_string(group_case));
              expect_result(expected, table.view(), spec, with_tuning(base, tuning));
              if (HasFatalFailure()) return;
            }
          }
}

TEST_F(GroupBy, LargeTablesPairwise) {
  constexpr std::uint64_t kRows = 65'537;
  if (testing::max_test_rows() < kRows) GTEST_SKIP() << "larger than this run's tables: " << kRows;
  Axes const axes{{kRows}};
  std::vector<testing::Axis> const named{{"groups", {"1", "2", "64", "65536"}},
                                         {"pattern", {"uniform", "zipf_1_5", "one_heavy", "every_row"}},
                                         {"keys", {"1", "2", "3", "5", "7", "9"}},
                                         {"nulls", {"no", "yes"}}};
  auto const chosen = testing::pairwise_cases(named, [](std::span<std::size_t const>) { return true; });
  std::size_t next = 0;
  for (auto const& choice : chosen.cases) {
    if (!testing::takes_case(next)) {
      ++next;
      continue;
    }
    GroupTableCase const group_case{kRows,
                                    axes.groups[choice[0]],
                                    axes.patterns[choice[1]],
                                    axes.keys[choice[2]],
                                    axes.nulls[choice[3]],
                                    next % 2 == 0 ? 0 : 10'000,
                                    7 + next};
    auto const table = testing::make_table(group_case);
    auto all = testing::all_aggregates(group_case);
    // A few of the aggregates each time, all of them over the cases.
    GroupBySpec spec{all.keys, {all.aggregates[0]}, next % 3 == 0};
    for (std::size_t a = 1 + next % 9; a < all.aggregates.size(); a += 9) spec.aggregates.push_back(all.aggregates[a]);
    auto const* const tuning = axes.tunings[next % 4];
    ++next;
    auto const expected = reference::reference_group_by(table.view(), spec);
    for (auto const& base : paths_of_turn(next)) {
      SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning + " " + to_string(group_case));
      expect_result(expected, table.view(), spec, with_tuning(base, tuning));
      if (HasFatalFailure()) return;
    }
  }
}

TestTable int_table(std::vector<std::int64_t> keys, std::vector<std::int64_t> values) {
  return TestTable()
      .add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), std::move(keys), {}})
      .add(TestColumn<std::int64_t>{"x", type_of(TypeId::int64), std::move(values), {}});
}

/// Tables of integers, dates and strings whose keys pack, every way of the CPU path forced.
TEST_F(GroupBy, EveryGroupingEqualsTheOracle) {
  for (auto const rows : {0U, 1U, 64U, 257U})
    for (auto const keys : {1U, 2U, 3U})
      for (auto const nulls : {false, true})
        for (auto const pattern : {GroupSpread::uniform, GroupSpread::one_heavy, GroupSpread::every_row}) {
          GroupTableCase const group_case{rows, 40, pattern, keys, nulls, rows == 257 ? 100 : 0, 5};
          auto const table = testing::make_table(group_case);
          auto spec = testing::all_aggregates(group_case);
          // Floats of every magnitude are summed slice by slice; without them the whole table is taken.
          std::erase_if(spec.aggregates, [](Aggregate const& aggregate) {
            return aggregate.column && (*aggregate.column == "f32" || *aggregate.column == "f64") &&
                   (aggregate.function == AggregateFunction::sum || aggregate.function == AggregateFunction::mean);
          });
          auto const expected = reference::reference_group_by(table.view(), spec);
          for (auto const* tuning : {"keys=packed", "keys=packed,grouping=slices", "keys=packed,grouping=local",
                                     "keys=packed,grouping=partitioned", "keys=packed,grouping=partitioned,lanes=1"})
            for (auto const ordered : {false, true}) {
              SCOPED_TRACE(std::string(tuning) + (ordered ? " ordered " : " ") + to_string(group_case));
              spec.ordered = ordered;
              GroupByOptions options;
              options.path = Path::cpu;
              options.threads = 3;
              options = with_tuning(options, tuning);
              auto const packs = run(table.view(), spec, options);
              if (!packs && packs.error().code() == ErrorCode::usage) continue;  // keys of more than 64 bits
              expect_result(expected, table.view(), spec, options);
              if (HasFatalFailure()) return;
            }
        }
}

TEST_F(GroupBy, FloatsInReachOfOneAnotherGiveTheSameBitsInEveryOrder) {
  std::vector<std::int64_t> keys;
  std::vector<double> values;
  for (int row = 0; row < 900; ++row) {
    keys.push_back(row % 7);
    values.push_back(std::ldexp(row % 2 == 0 ? 1.1 + row : -3.7 * row, row % 40 - 20));
  }
  auto const build = [&] {
    return TestTable()
        .add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), keys, {}})
        .add(TestColumn<double>{"x", type_of(TypeId::float64), values, {}})
        .build();
  };
  auto const table = build();
  std::reverse(keys.begin(), keys.end());
  std::reverse(values.begin(), values.end());
  auto const reversed = build();
  GroupBySpec const spec{
      {"k"}, {{AggregateFunction::sum, "x", std::nullopt}, {AggregateFunction::mean, "x", std::nullopt}}, false};
  for (auto const* tuning : {"grouping=slices", "grouping=direct", "grouping=local", "grouping=partitioned"}) {
    SCOPED_TRACE(tuning);
    GroupByOptions options;
    options.path = Path::cpu;
    options = with_tuning(options, tuning);
    expect_groups(table.view(), spec, options);
    expect_groups(reversed.view(), spec, options);
  }
}

TEST_F(GroupBy, GroupingsThatTheKeysDoNotAllowAreRefused) {
  auto const table = int_table({0, 1, std::int64_t{1} << 40}, {1, 2, 3}).build();
  GroupBySpec const spec{{"k"}, {{AggregateFunction::sum, "x", std::nullopt}}, false};
  GroupByOptions options;
  options.path = Path::cpu;
  for (auto const* tuning : {"grouping=local,keys=words", "grouping=partitioned,keys=words"})
    expect_groups(table.view(), spec, with_tuning(options, tuning));
  for (auto const* tuning : {"grouping=direct", "grouping=direct,keys=words"}) {
    auto const refused = run(table.view(), spec, with_tuning(options, tuning));
    ASSERT_FALSE(refused) << tuning;
    EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  }
}

TEST_F(GroupBy, ShuffledInputGivesTheSameBits) {
  GroupTableCase const group_case{257, 9, GroupSpread::zipf_1_5, 2, true, 0};
  auto const spec = testing::all_aggregates(group_case);
  auto const table = testing::make_table(group_case);
  auto const other = testing::shuffled(group_case);
  for (auto const& options : all_paths<GroupByOptions>()) {
    auto const first = run(table.view(), spec, options);
    auto const second = run(other.view(), spec, with_tuning(options, "slice_rows=40"));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(reference::sorted(*first), reference::sorted(*second));
  }
}

TEST_F(GroupBy, NoKeysIsOneGroupAndNoAggregatesAreDistinctKeys) {
  GroupTableCase group_case{200, 30, GroupSpread::uniform, 3, true, 64};
  auto const table = testing::make_table(group_case);
  GroupTableCase empty_case = group_case;
  empty_case.rows = 0;
  auto const empty = testing::make_table(empty_case);
  auto const all = testing::all_aggregates(group_case);
  GroupBySpec const global{{}, all.aggregates, false};
  GroupBySpec const distinct{all.keys, {}, true};
  for (auto const& base : all_paths<GroupByOptions>())
    for (auto const* tuning : {"", "slice_rows=33", "radix_bits=4"}) {
      SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning);
      auto const options = with_tuning(base, tuning);
      expect_groups(table.view(), global, options);
      expect_groups(empty.view(), global, options);
      expect_groups(table.view(), distinct, options);
      expect_groups(empty.view(), distinct, options);
    }
}

TEST_F(GroupBy, OverflowNamesTheGroup) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  auto const beyond = int_table({1, 2, 2, 1}, {5, kMax, 1, 6}).build();
  auto const back = int_table({2, 2, 2}, {kMax, 1, -1}).build();
  auto const lowest = int_table({2, 2}, {-kMax, -1}).build();
  auto const below = int_table({2, 2, 2}, {-kMax, -1, -1}).build();
  GroupBySpec const spec{{"k"}, {{AggregateFunction::sum, "x", std::nullopt}}, true};
  for (auto const& base : all_paths<GroupByOptions>())
    for (auto const* tuning :
         {"", "slice_rows=1", "radix_bits=2", "grouping=direct", "grouping=local", "grouping=partitioned"}) {
      SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning);
      auto const options = with_tuning(base, tuning);
      for (auto const* table : {&beyond, &below}) {
        auto const failed = run(table->view(), spec, options);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code(), ErrorCode::invalid_input);
        EXPECT_EQ(failed.error().message(), "'sum_x' is beyond int64 in the group k = 2");
        EXPECT_THROW(reference::reference_group_by(table->view(), spec), reference::SumOverflow);
      }
      expect_groups(back.view(), spec, options);
      expect_groups(lowest.view(), spec, options);
    }
}

TEST_F(GroupBy, KeyRangesAtBothEndsOfTheType) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  std::vector<std::vector<std::int64_t>> const ranges{
      {kMin, kMin + 1, kMin, kMin + 2}, {kMax, kMax - 1, kMax}, {kMin, kMax, 0, kMin, kMax, -1}};
  GroupBySpec const spec{{"k"}, {{AggregateFunction::count, std::nullopt, std::nullopt}}, true};
  for (auto const& keys : ranges) {
    auto const table = int_table(keys, std::vector<std::int64_t>(keys.size(), 1)).build();
    for (auto const& base : all_paths<GroupByOptions>())
      for (auto const* tuning : {"", "keys=words", "keys=rowid", "address=hash", "radix_bits=1"}) {
        SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning);
        expect_groups(table.view(), spec, with_tuning(base, tuning));
      }
  }
}

TEST_F(GroupBy, DecimalSumsUpToTheLastDigit) {
  auto type = type_of(TypeId::decimal128);
  type.precision = 38;
  type.scale = 3;
  // 10^38 - 1 and 1, in words.
  reference::Decimal128 const most{0x098A'223F'FFFF'FFFF, 0x4B3B'4CA8'5A86'C47A};
  reference::Decimal128 const one{1, 0};
  reference::Decimal128 const minus_one{~std::uint64_t{0}, -1};
  using Column = TestColumn<reference::Decimal128>;
  auto const fits = TestTable().add(Column{"x", type, {most, one, minus_one}, {}}).build();
  auto const beyond = TestTable().add(Column{"x", type, {most, one}, {}}).build();
  GroupBySpec const spec{
      {}, {{AggregateFunction::sum, "x", std::nullopt}, {AggregateFunction::mean, "x", std::nullopt}}, false};
  for (auto const& options : all_paths<GroupByOptions>()) {
    expect_groups(fits.view(), spec, options);
    auto const failed = run(beyond.view(), spec, options);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(), "'sum_x' is beyond decimal128(38, 3) in the group of all rows");
  }
}

TEST_F(GroupBy, TypesAndNamesOfTheResult) {
  GroupTableCase const group_case{10, 3, GroupSpread::uniform, 1, false, 0};
  auto const table = testing::make_table(group_case);
  GroupBySpec spec;
  spec.keys = {"k0"};
  auto parsed = parse_aggregates("count,count:s,sum:i8,sum:u64=total,sum:f32,sum:d128,min:date,max:s,mean:i32,min:i16");
  ASSERT_TRUE(parsed) << parsed.error().describe();
  spec.aggregates = *parsed;
  auto const result = engine().group_by(table.view(), spec);
  ASSERT_TRUE(result) << result.error().describe();
  std::vector<std::string> columns;
  for (auto const& field : (*result)->schema()) columns.push_back(field.name + " " + to_string(field.type));
  std::vector<std::string> const expected{"k0 int32",
                                          "count int64",
                                          "count_s int64",
                                          "sum_i8 int64",
                                          "total uint64",
                                          "sum_f32 float64",
                                          "sum_d128 decimal128(38, 10)",
                                          "min_date date32",
                                          "max_s utf8",
                                          "mean_i32 float64",
                                          "min_i16 int16"};
  EXPECT_EQ(columns, expected);
}

TEST_F(GroupBy, RefusesWhatItCannotDo) {
  GroupTableCase const group_case{100, 64, GroupSpread::uniform, 5, false, 0};
  auto const table = testing::make_table(group_case);
  auto const error_of = [&](std::vector<std::string> keys, std::string const& aggregates, char const* tuning = "") {
    auto parsed = parse_aggregates(aggregates);
    if (!parsed) return parsed.error().message();
    GroupByOptions options;
    options.path = Path::cpu;
    options = with_tuning(options, tuning);
    auto const result = engine().group_by(table.view(), {std::move(keys), *parsed, false}, options);
    return result ? std::string("none") : result.error().message();
  };
  EXPECT_EQ(error_of({}, ""), "a group-by needs keys or aggregates");
  EXPECT_EQ(error_of({"k0"}, "sum"), "aggregate needs a column: sum");
  std::string const functions =
      "aggregate must be one of count, sum, min, max, mean, var, var_pop, std, std_pop, covar, covar_pop, corr, "
      "count_distinct, first, last, any, bool_and, bool_or, arg_min, arg_max, median, quantile, min_n, max_n, "
      "product: ";
  EXPECT_EQ(error_of({"k0"}, "mode:i8"), functions + "'mode'");
  EXPECT_EQ(error_of({"k0"}, "count,"), functions + "''");
  EXPECT_EQ(error_of({"k0"}, "count:"), "aggregate has an empty column: count:");
  EXPECT_EQ(error_of({"k0"}, "count="), "aggregate has an empty name: count=");
  EXPECT_EQ(error_of({"k0"}, "sum:s"), "sum is not defined for column 's' of type utf8");
  EXPECT_EQ(error_of({"k0"}, "mean:date"), "mean is not defined for column 'date' of type date32");
  EXPECT_EQ(error_of({"k0"}, "count=k0"), "two columns of the result have one name: 'k0'");
  EXPECT_EQ(error_of({"k0", "k0"}, "count"), "two columns of the result have one name: 'k0'");
  EXPECT_NE(error_of({"k9"}, "count").find("k9"), std::string::npos);
  EXPECT_NE(error_of({"k1", "k2", "k3"}, "count", "keys=packed").find("at most 64 bits"), std::string::npos);
}

TEST_F(GroupBy, MemoryLimitsForceManyPartitionsOrAreNamed) {
  if (!testing::takes_large_case()) GTEST_SKIP() << "65537 rows: lavapipe, or full runs";
  GroupTableCase const group_case{65'537, 1, GroupSpread::every_row, 1, false, 0};
  auto const table = testing::make_table(group_case);
  GroupBySpec const spec{{"k0"}, {{AggregateFunction::sum, "f64", std::nullopt}}, false};
  for (auto options : all_paths<GroupByOptions>()) {
    SCOPED_TRACE(to_string(options.path));
    options.memory_limit_bytes = 4 << 20;
    auto const result = engine().group_by(table.view(), spec, options);
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_GT((*result)->plan().radix_bits, 0U);
    expect_groups(table.view(), spec, options);
    options.memory_limit_bytes = 100'000;
    auto const refused = engine().group_by(table.view(), spec, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::limit_exceeded);
  }
}

TEST_F(GroupBy, CanBeCancelled) {
  GroupTableCase const group_case{257, 64, GroupSpread::uniform, 1, false, 0};
  auto const table = testing::make_table(group_case);
  auto const spec = testing::all_aggregates(group_case);
  for (auto options : all_paths<GroupByOptions>()) {
    std::atomic<bool> cancelled{true};
    options.control.cancelled = &cancelled;
    auto const early = run(table.view(), spec, options);
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code(), ErrorCode::cancelled);
    cancelled = false;
    options.tuning.slice_rows = 16;
    options.control.on_progress = [&](Progress const& progress) { cancelled = progress.done >= 3; };
    auto const late = run(table.view(), spec, options);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), ErrorCode::cancelled);
  }
}

TEST_F(GroupBy, ExplainShowsTheHashingAttribute) {
  GroupTableCase const group_case{257, 64, GroupSpread::uniform, 3, false, 0};
  auto const table = testing::make_table(group_case);
  GroupByOptions options;
  options.path = Path::cpu;
  options = with_tuning(options, "keys=words");
  auto const plan = engine().explain_group_by(table.view(), {{"k1", "k0", "k2"}, {}, false}, options);
  ASSERT_TRUE(plan) << plan.error().describe();
  auto const text = to_string(*plan);
  EXPECT_NE(text.find("all words; most diverse: k0"), std::string::npos) << text;
  EXPECT_NE(text.find("k1 7, k0 6"), std::string::npos) << text;
}

}  // namespace
}  // namespace garuda
