// Group-bys of tables on a device through the public API: whole results against the oracle, every way forced.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/workloads/group_tables.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using testing::GroupSpread;
using testing::GroupTableCase;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;
using Function = AggregateFunction;

/// The columns of fixed width of a table, which a device holds.
Table fixed_width(Table const& table) {
  std::vector<std::size_t> kept;
  Schema schema;
  for (std::size_t c = 0; c < table.schema().size(); ++c) {
    auto const& type = table.schema()[c].type;
    if (is_variable_width(type) || type.id == TypeId::dictionary) continue;
    kept.push_back(c);
    schema.push_back(table.schema()[c]);
  }
  std::vector<Batch> batches;
  for (auto const& batch : table.batches()) {
    auto& own = batches.emplace_back();
    own.num_rows = batch.num_rows;
    own.owner = batch.owner;
    for (auto const c : kept) own.columns.push_back(batch.columns[c]);
  }
  return Table(std::move(schema), std::move(batches));
}

class DeviceGroupBys : public testing::EngineTest {
 protected:
  static Result<Table> group(Table const& table, GroupBySpec const& spec, GroupByOptions const& options) {
    GARUDA_TRY_ASSIGN(auto const there, engine().upload(table.view()));
    GARUDA_TRY_ASSIGN(auto const grouped, engine().group_by(there.view(), spec, options));
    GARUDA_TRY_ASSIGN(auto const groups, grouped->take_device_table());
    EXPECT_EQ(grouped->stats().path, Path::compute);
    EXPECT_EQ(grouped->stats().rows_out, groups.num_rows());
    return groups.download();
  }

  static void expect_groups(Table const& table, GroupBySpec const& spec, GroupByOptions const& options = {}) {
    SCOPED_TRACE(to_string(options.tuning) + (spec.ordered ? " ordered" : ""));
    auto const downloaded = group(table, spec, options);
    ASSERT_TRUE(downloaded) << downloaded.error().describe();
    auto const actual = reference::read_table(downloaded->view());
    auto const expected = reference::reference_group_by(table.view(), spec);
    ASSERT_EQ(actual.names, expected.names);
    if (spec.ordered) {
      ASSERT_EQ(actual.rows, expected.rows);
    } else {
      ASSERT_EQ(reference::sorted(actual), reference::sorted(expected));
    }
  }

  static GroupBySpec spec_of(std::vector<std::string> keys, std::string_view aggregates, bool ordered = false) {
    return {std::move(keys), *parse_aggregates(aggregates), ordered};
  }
  static GroupByOptions way(int number) {
    constexpr std::array kMethods{GroupMethod::automatic, GroupMethod::shared, GroupMethod::hash,
                                  GroupMethod::partitioned};
    return by(kMethods.at(static_cast<std::size_t>(number)));
  }
  static GroupByOptions by(GroupMethod method) {
    GroupByOptions options;
    options.tuning.method = method;
    return options;
  }
};

GroupTableCase small_case() {
  GroupTableCase c;
  c.rows = 257;
  c.groups = 20;
  c.keys = 9;
  c.nulls = true;
  return c;
}

// Each set of states compiles passes of its own, which is what takes time on software drivers.
constexpr std::string_view kOneSet = "mean:f32,count:i8";
constexpr std::string_view kFloats = "sum:f64,mean:f64,sum:f32,count:f32,min:f64,max:f32";
constexpr std::string_view kIntegers = "sum:i64,mean:i64,sum:u64,min:i64,max:u64,count";
constexpr std::string_view kNarrow = "sum:i8,min:i8,max:i16,sum:u8,mean:u16,max:b,min:date";
constexpr std::string_view kDecimals = "sum:d32,sum:d128,mean:d128,min:d128,max:d32,max:time";

TEST_F(DeviceGroupBys, EveryWayAndOrder) {
  auto const table = fixed_width(testing::make_table(small_case()));
  // The resident group-by's own test has every way.
  for (int const number : testing::full_tests() ? std::vector<int>{1, 2, 3} : std::vector<int>{2, 3}) {
    expect_groups(table, spec_of({"k0"}, kOneSet), way(number));
    if (HasFatalFailure()) return;
  }
  expect_groups(table, spec_of({"k0"}, kOneSet, true), way(2));
  if (!testing::full_tests()) return;
  expect_groups(table, spec_of({"k0"}, kOneSet, true), way(3));
  expect_groups(table, spec_of({"k5", "k0"}, kOneSet, true), way(2));
}

TEST_F(DeviceGroupBys, EveryTypeAndFunction) {
  auto const table = fixed_width(testing::make_table(small_case()));
  std::size_t turn = 0;
  for (auto const& aggregates : {kFloats, kIntegers, kNarrow, kDecimals})
    for (auto const& keys : {std::vector<std::string>{"k0"}, {"k7", "k4"}, {"k2"}, {"k0", "k2", "k3"}, {"k5"}, {}}) {
      bool const is_chosen = turn == 1 || turn == 22;
      ++turn;
      if (!is_chosen && !testing::full_tests()) continue;
      expect_groups(table, spec_of(keys, aggregates), {});
      if (HasFatalFailure()) return;
    }
}

/// Shapes by spread, rows and groups, all ways.
TEST_F(DeviceGroupBys, EveryShape) {
  if (!testing::full_tests()) GTEST_SKIP() << "part of the full tests";
  for (std::uint64_t const rows : {1, 255, 257, 5'000})
    for (std::uint64_t const groups : {1, 2, 64, 2'000})
      for (auto const spread :
           {GroupSpread::uniform, GroupSpread::zipf_1_5, GroupSpread::one_heavy, GroupSpread::every_row})
        for (bool const nulls : {false, true}) {
          auto c = small_case();
          c.rows = rows;
          c.groups = groups;
          c.pattern = spread;
          c.nulls = nulls;
          c.batch_rows = 100;
          auto const table = fixed_width(testing::make_table(c));
          SCOPED_TRACE(to_string(c));
          for (int const number : {1, 2, 3})
            expect_groups(table, spec_of({"k0", "k4"}, "sum:f64,mean:f32,sum:i64,max:i64,count:u8", number % 2 == 0),
                          way(number));
          if (HasFatalFailure()) return;
        }
}

/// Sums whose lowest and highest bits are as far apart as doubles are, and all that is no number.
TEST_F(DeviceGroupBys, FloatSumsAreExactWhateverTheirRange) {
  TestColumn<std::int32_t> keys{"k", type_of(TypeId::int32), {}, {}};
  TestColumn<double> wide{"x", type_of(TypeId::float64), {}, {}};
  TestColumn<float> narrow{"y", type_of(TypeId::float32), {}, {}};
  std::uint64_t state = 1;
  auto const next = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 8;
  };
  for (int i = 0; i < 600; ++i) {
    keys.values.push_back(i % 7);
    auto const exponent = static_cast<int>(next() % 2'098) - 1'074;
    auto value = std::ldexp(static_cast<double>(next() | 1) / 0x1p56, std::min(exponent, 1'020));
    if (next() % 2 == 0) value = -value;
    wide.values.push_back(value);
    narrow.values.push_back(
        std::ldexp(static_cast<float>(next() % 16'777'216) - 8e6F, static_cast<int>(next() % 250) - 149));
  }
  // What cancels leaves the small ones; infinities of one sign, of both, and NaN.
  for (int const sign : {1, -1}) {
    keys.values.push_back(1);
    wide.values.push_back(sign * std::numeric_limits<double>::max());
    narrow.values.push_back(static_cast<float>(sign) * std::numeric_limits<float>::max());
    keys.values.push_back(2);
    wide.values.push_back(sign * std::numeric_limits<double>::infinity());
    narrow.values.push_back(std::numeric_limits<float>::quiet_NaN());
  }
  keys.values.push_back(3);
  wide.values.push_back(-std::numeric_limits<double>::infinity());
  narrow.values.push_back(std::numeric_limits<float>::infinity());
  keys.values.push_back(9);
  wide.values.push_back(-0.0);
  narrow.values.push_back(-0.0F);
  keys.values.push_back(10);
  wide.values.push_back(-std::numeric_limits<double>::denorm_min());
  narrow.values.push_back(std::numeric_limits<float>::denorm_min());
  auto const table = TestTable().add(keys).add(wide).add(narrow).build();
  expect_groups(table, spec_of({"k"}, "sum:y,mean:y"), way(2));
  expect_groups(table, spec_of({"k"}, "sum:x,mean:x,min:x"), way(3));
}

TEST_F(DeviceGroupBys, NoRowsAndNoKeys) {
  auto c = small_case();
  c.rows = 0;
  auto const none = fixed_width(testing::make_table(c));
  expect_groups(none, spec_of({}, "count,sum:f64,mean:i32,min:d128,count:i8"));
  expect_groups(none, spec_of({"k0", "k2"}, "count,sum:f64"));
  c.rows = 257;
  auto const some = fixed_width(testing::make_table(c));
  expect_groups(some, spec_of({}, kOneSet, true));
  if (testing::full_tests()) expect_groups(some, spec_of({}, kOneSet), way(1));
}

TEST_F(DeviceGroupBys, SumsBeyondTheirTypeNameTheGroup) {
  TestColumn<std::int32_t> a{"a", type_of(TypeId::int32), {4, -5, -5, 4}, {}};
  TestColumn<std::int64_t> x{"x", type_of(TypeId::int64), {1, std::int64_t{1} << 62, std::int64_t{1} << 62, 2}, {}};
  auto const table = TestTable().add(a).add(x).build();
  // The aggregate that it is, and of ordered groups the first: whatever path says it, in the same words.
  TestColumn<std::int32_t> b{"b", type_of(TypeId::int32), {1, 2, 2, 1}, {}};
  TestColumn<std::int64_t> y{"y", type_of(TypeId::int64), std::vector(4, std::int64_t{-1} << 62), {}};
  y.values[1] = y.values[2] = std::numeric_limits<std::int64_t>::min();
  auto const wide = TestTable().add(a).add(b).add(x).add(y).build();
  struct {
    Table const* table;
    GroupBySpec spec;
    std::string message;
  } const refused[]{
      {&table, spec_of({"a"}, "sum:x"), "'sum_x' is beyond int64 in the group a = -5"},
      {&table, spec_of({}, "count,sum:x=total"), "'total' is beyond int64 in the group of all rows"},
      {&wide, spec_of({"b", "a"}, "sum:x,sum:y", true), "'sum_x' is beyond int64 in the group b = 2, a = -5"},
      {&wide, spec_of({"a"}, "mean:x,sum:y"), "'sum_y' is beyond int64 in the group a = -5"}};
  GroupByOptions cpu;
  cpu.path = Path::cpu;
  for (auto const& [of, spec, message] : refused) {
    auto const grouped = group(*of, spec, {});
    ASSERT_FALSE(grouped);
    EXPECT_EQ(grouped.error().code(), ErrorCode::invalid_input);
    EXPECT_EQ(grouped.error().message(), message);
    auto const on_host = engine().group_by(of->view(), spec, cpu);
    ASSERT_TRUE(on_host) << on_host.error().describe();
    auto const collected = collect(**on_host);
    ASSERT_FALSE(collected);
    EXPECT_EQ(collected.error().message(), message);
  }
  expect_groups(table, spec_of({"a"}, "mean:x"));
  TestColumn<std::int64_t> comes_back{
      "x", type_of(TypeId::int64), {1, std::int64_t{1} << 62, std::int64_t{1} << 62, 2}, {}};
  comes_back.values[0] = -(std::int64_t{1} << 62);
  expect_groups(TestTable().add(a).add(comes_back).build(), spec_of({}, "sum:x"));
}

TEST_F(DeviceGroupBys, RefuseAndStop) {
  auto const table = fixed_width(testing::make_table(small_case()));
  auto const code_of = [&](GroupBySpec const& spec, GroupByOptions const& options) {
    auto const grouped = group(table, spec, options);
    return grouped ? std::nullopt : std::optional(grouped.error().code());
  };
  EXPECT_EQ(code_of(spec_of({"kay"}, "count"), {}), ErrorCode::invalid_input);
  EXPECT_EQ(code_of(spec_of({}, "count"), way(3)), ErrorCode::usage);
  GroupByOptions options;
  options.tuning.radix_bits = 3;
  EXPECT_EQ(code_of(spec_of({"k0"}, "count"), options), ErrorCode::usage) << "of slices";
  options.tuning = {};
  options.path = Path::cpu;
  EXPECT_EQ(code_of(spec_of({"k0"}, "count"), options), ErrorCode::usage);
  options.path = Path::compute;
  options.device_memory_limit_bytes = 2'000;
  EXPECT_EQ(code_of(spec_of({"k0"}, "sum:f64"), options), ErrorCode::limit_exceeded);
  std::atomic<bool> const cancelled{true};
  options = {};
  options.control.cancelled = &cancelled;
  auto const there = engine().upload(table.view());
  ASSERT_TRUE(there);
  auto const stopped = engine().group_by(there->view(), spec_of({"k0"}, "sum:f64"), options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda
