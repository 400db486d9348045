// Every kind of join of tables on a device, and their counts, where the tables live: results equal the oracle's.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/device/device_tables.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/mixed_keys.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::keyed_table;
using testing::random_column;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

constexpr std::array kKinds{JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full,
                            JoinKind::semi,  JoinKind::anti, JoinKind::mark};

class DeviceKinds : public testing::DeviceTables {
 protected:
  static JoinSpec of_kind(JoinKind kind, bool nulls_equal = false) {
    auto spec = on_keys();
    spec.kind = kind;
    spec.nulls_equal = nulls_equal;
    return spec;
  }

  /// Rows and their number, both without leaving the device.
  static void expect_there(Table const& left, Table const& right, DeviceTable const& left_there,
                           DeviceTable const& right_there, JoinSpec const& spec, std::string_view tuning) {
    SCOPED_TRACE(std::string(to_string(spec.kind)) + (spec.nulls_equal ? ", nulls equal, " : ", ") +
                 std::string(tuning));
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const joined = engine().join(left_there.view(), right_there.view(), spec, tuned(tuning));
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_TRUE(is_there((*joined)->plan())) << to_string((*joined)->plan());
    auto const table = take(joined);
    auto const rows = download(table);
    if (spec.ordered) {
      EXPECT_EQ(reference::read_table(rows.view()), expected);
    } else {
      expect_same(rows, expected);
    }
    auto const counted = engine().join_count(left_there.view(), right_there.view(), spec, tuned(tuning));
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_TRUE(is_there(counted->plan));
    EXPECT_EQ(counted->rows, expected.rows.size());
  }

  static void expect_kinds(Table const& left, Table const& right, std::vector<std::string_view> const& tunings,
                           bool nulls_equal = false) {
    auto const left_there = upload(left);
    auto const right_there = upload(right);
    for (auto const tuning : tunings)
      for (auto const kind : kKinds)
        if (is_taken()) expect_there(left, right, left_there, right_there, of_kind(kind, nulls_equal), tuning);
  }

  static bool is_taken() {
    static std::uint64_t cases = 0;
    return testing::takes_compiled_case(cases++);
  }
};

/// Keys and payload with nulls; a share of the keys that only this side has.
Table nullable_table(TypeId type, std::size_t rows, std::uint64_t distinct, std::uint64_t first, std::uint64_t seed,
                     std::uint64_t null_share) {
  std::mt19937_64 random(seed);
  TestColumn<std::int64_t> wide{"k", type_of(type), {}, {}};
  TestColumn<std::int32_t> narrow{"k", type_of(type), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    auto const value = static_cast<std::int64_t>(first + random() % distinct) - 20;
    wide.values.push_back(value << 30);
    narrow.values.push_back(static_cast<std::int32_t>(value));
    wide.valid.push_back(random() % 4 >= null_share);
    narrow.valid.push_back(wide.valid.back());
  }
  TestTable table;
  table.add(random_column<std::int64_t>("wide", TypeId::int64, rows, seed + 1, true));
  if (type == TypeId::int64) {
    table.add(std::move(wide));
  } else {
    table.add(std::move(narrow));
  }
  return table.add(random_column<std::int8_t>("tiny", TypeId::int8, rows, seed + 2, false)).build(150);
}

TEST_F(DeviceKinds, EqualTheOracleByEveryMethod) {
  expect_kinds(nullable_table(TypeId::int32, 300, 60, 0, 1, 1), nullable_table(TypeId::int32, 200, 60, 30, 7, 1),
               {"payload=carry", "payload=gather,build=left", "method=global,build=left", "method=global,build=right"});
  expect_kinds(nullable_table(TypeId::int64, 200, 60, 0, 1, 1), nullable_table(TypeId::int64, 300, 60, 30, 7, 1),
               {"payload=carry"});
}

TEST_F(DeviceKinds, NullsAreEqualWhereAskedFor) {
  for (auto const type : {TypeId::int32, TypeId::int64}) {
    expect_kinds(nullable_table(type, 60, 40, 0, 1, 1), nullable_table(type, 50, 40, 20, 7, 1),
                 {"payload=carry", "method=global"}, true);
    // Nulls on one side match nothing, of any kind.
    expect_kinds(nullable_table(type, 60, 40, 0, 1, 0), nullable_table(type, 50, 40, 20, 7, 2), {"payload=carry"},
                 true);
  }
}

TEST_F(DeviceKinds, SidesWithoutRowsOrKeys) {
  auto const some = nullable_table(TypeId::int32, 40, 20, 0, 1, 1);
  auto const none = nullable_table(TypeId::int32, 0, 20, 0, 2, 1);
  auto const null_keys = nullable_table(TypeId::int32, 30, 20, 0, 3, 4);
  for (bool const nulls_equal : {false, true})
    for (auto const* const other : {&none, &null_keys}) {
      expect_kinds(some, *other, {"payload=carry", "method=global"}, nulls_equal);
      expect_kinds(*other, some, {"payload=carry", "method=global"}, nulls_equal);
    }
  expect_kinds(null_keys, null_keys, {"payload=carry"}, true);
}

/// Keys from `first` on, `distinct` of them in turn, some null, with a column beside them.
template <class Key>
Table keys_from(TypeId type, std::int64_t first, std::size_t rows, std::uint64_t distinct, std::size_t null_each) {
  TestColumn<Key> keys{"k", type_of(type), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    keys.values.push_back(static_cast<Key>(first + static_cast<std::int64_t>(i * 7 % distinct)));
    keys.valid.push_back(null_each == 0 || i % null_each != 3);
  }
  return TestTable()
      .add(std::move(keys))
      .add(random_column<std::int64_t>("wide", TypeId::int64, rows, 3, true))
      .build(90);
}

TEST_F(DeviceKinds, BitmapsOfKeysMarkRows) {
  constexpr auto kFar = std::int64_t{1} << 40;
  auto const narrow = keys_from<std::int32_t>(TypeId::int32, -30, 4'500, 3'000, 11);
  auto const other = keys_from<std::int32_t>(TypeId::int32, 900, 300, 150, 5);
  auto const wide = keys_from<std::int64_t>(TypeId::int64, -kFar, 500, 300, 7);
  auto const wider = keys_from<std::int64_t>(TypeId::int64, 100 - kFar, 400, 400, 0);
  auto const none = keys_from<std::int32_t>(TypeId::int32, 0, 0, 1, 0);
  auto const null_keys = nullable_table(TypeId::int32, 40, 20, 0, 3, 4);
  auto const mixed = keys_from<std::int64_t>(TypeId::int64, -500, 900, 900, 9);
  std::vector<std::pair<Table const*, Table const*>> const pairs{
      {&narrow, &other}, {&other, &narrow},     {&wide, &wider},      {&wider, &wide},  {&narrow, &none},
      {&none, &narrow},  {&narrow, &null_keys}, {&null_keys, &other}, {&mixed, &other}, {&other, &mixed}};
  for (auto const& [left, right] : pairs) {
    auto const left_there = upload(*left);
    auto const right_there = upload(*right);
    for (auto const kind : {JoinKind::semi, JoinKind::anti, JoinKind::mark})
      for (bool const nulls_equal : {false, true}) {
        auto spec = of_kind(kind, nulls_equal);
        spec.ordered = nulls_equal;
        expect_there(*left, *right, left_there, right_there, spec, "method=bitmap");
      }
  }
}

/// Keys are scattered by their leading bits first, and each piece of the bitmap is in shared memory.
TEST_F(DeviceKinds, BitmapsInPieces) {
  constexpr auto kFar = (std::int64_t{3} << 40) - 700;
  constexpr std::int64_t kEdge = std::numeric_limits<std::int32_t>::max() - 1'000;
  auto const around_zero = keys_from<std::int32_t>(TypeId::int32, -900, 2'500, 2'000, 0);
  auto const above = keys_from<std::int32_t>(TypeId::int32, 300, 1'500, 3'000, 7);
  auto const at_edge = keys_from<std::int32_t>(TypeId::int32, kEdge, 1'000, 1'000, 0);
  auto const far = keys_from<std::int64_t>(TypeId::int64, kFar, 3'000, 1'500, 0);
  auto const farther = keys_from<std::int64_t>(TypeId::int64, kFar + 400, 2'000, 2'000, 0);
  std::vector<std::pair<Table const*, Table const*>> const pairs{
      {&above, &around_zero}, {&at_edge, &at_edge}, {&around_zero, &at_edge}, {&far, &farther}, {&farther, &far}};
  for (auto const& [left, right] : pairs) {
    auto const left_there = upload(*left);
    auto const right_there = upload(*right);
    for (auto const* const tuning :
         {"method=bitmap,radix_bits=0", "method=bitmap,radix_bits=1", "method=bitmap,radix_bits=16"})
      for (auto const kind : {JoinKind::semi, JoinKind::anti, JoinKind::mark})
        expect_there(*left, *right, left_there, right_there, of_kind(kind, kind == JoinKind::mark), tuning);
  }
  // Several chunks a piece.
  auto const skewed = keys_from<std::int32_t>(TypeId::int32, 5, 280'000, 70, 0);
  expect_there(above, skewed, upload(above), upload(skewed), of_kind(JoinKind::semi), "method=bitmap,radix_bits=1");
}

/// Bitmaps count without pairs where a side has no key twice.
TEST_F(DeviceKinds, BitmapsOfKeysCount) {
  auto const unique = keys_from<std::int32_t>(TypeId::int32, 0, 3'000, 3'000, 13);
  auto const other = keys_from<std::int32_t>(TypeId::int32, 2'500, 2'000, 2'000, 0);
  auto const repeated = keys_from<std::int32_t>(TypeId::int32, -100, 2'500, 600, 6);
  auto const whole = keys_from<std::int32_t>(TypeId::int32, -50, 400, 400, 0);
  std::vector<std::pair<Table const*, Table const*>> const pairs{
      {&unique, &other}, {&unique, &repeated}, {&repeated, &unique}, {&repeated, &whole}, {&whole, &other}};
  for (auto const& [left, right] : pairs) {
    auto const left_there = upload(*left);
    auto const right_there = upload(*right);
    for (auto const kind : {JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full}) {
      auto const expected = reference::reference_join_table(left->view(), right->view(), of_kind(kind)).rows.size();
      for (auto const* const tuning : {"method=bitmap", "method=bitmap,radix_bits=0", "method=bitmap,radix_bits=3"}) {
        auto const counted = engine().join_count(left_there.view(), right_there.view(), of_kind(kind), tuned(tuning));
        ASSERT_TRUE(counted) << counted.error().describe();
        EXPECT_EQ(counted->rows, expected) << to_string(kind) << " " << tuning;
      }
    }
  }
}

/// A result whose rows all match has no words that say which side is absent, and is a table like others.
TEST_F(DeviceKinds, RowsThatAllMatchLackNoSide) {
  auto const left = keys_from<std::int32_t>(TypeId::int32, 10, 90, 30, 0);
  auto const right = keys_from<std::int32_t>(TypeId::int32, 0, 60, 60, 0);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  auto const joined = join(left_there, right_there, of_kind(JoinKind::left));
  auto const on_host = download(joined);
  for (auto const kind : {JoinKind::left, JoinKind::full}) {
    expect_there(left, right, left_there, right_there, of_kind(kind), "");
    expect_there(on_host, right, joined, right_there, of_kind(kind), "");
  }
}

TEST_F(DeviceKinds, BitmapsOfWhatHasNoneAreRefused) {
  auto const repeated = upload(keys_from<std::int32_t>(TypeId::int32, 0, 60, 20, 0));
  auto const far = upload(nullable_table(TypeId::int64, 50, 40, 0, 1, 1));
  auto const refused = [](DeviceTable const& left, DeviceTable const& right, JoinSpec const& spec) {
    auto const counted = engine().join_count(left.view(), right.view(), spec, tuned("method=bitmap"));
    EXPECT_FALSE(counted);
    return counted ? ErrorCode::output : counted.error().code();
  };
  EXPECT_EQ(refused(repeated, repeated, of_kind(JoinKind::full)), ErrorCode::usage);
  EXPECT_EQ(refused(repeated, far, of_kind(JoinKind::semi)), ErrorCode::usage);
  auto tested = of_kind(JoinKind::semi);
  tested.where = parse_condition("left.wide < right.wide").value();
  EXPECT_EQ(refused(repeated, repeated, tested), ErrorCode::usage);
  EXPECT_FALSE(engine().join(repeated.view(), repeated.view(), of_kind(JoinKind::inner), tuned("method=bitmap")));
}

/// A partition has several build and probe chunks, and some keys have rows in all of them.
TEST_F(DeviceKinds, HeavyKeysAreCutIntoChunks) {
  auto const heavy = [](std::size_t rows, std::size_t others, std::int32_t first) {
    TestColumn<std::int32_t> keys{"k", type_of(TypeId::int32), {}, {}};
    for (std::size_t i = 0; i < rows; ++i) keys.values.push_back(7);
    for (std::size_t i = 0; i < others; ++i) keys.values.push_back(first + static_cast<std::int32_t>(i));
    return TestTable().add(std::move(keys)).build();
  };
  auto const many = heavy(9'000, 6'000, 1'000'000);
  auto const few = heavy(2, 9'000, 1'003'000);
  std::vector<std::string_view> const tunings{"payload=carry,build=left", "payload=carry,build=right"};
  expect_kinds(many, few, tunings);
  // Both sides heavy: pairs are not enumerated.
  auto const left_there = upload(many);
  auto const right_there = upload(heavy(8'000, 4'000, 1'003'000));
  auto const count_of = [&](JoinKind kind, std::string_view tuning) {
    return engine().join_count(left_there.view(), right_there.view(), of_kind(kind), tuned(tuning)).value().rows;
  };
  for (auto const tuning : {tunings[0], tunings[1], std::string_view("method=global")}) {
    EXPECT_EQ(count_of(JoinKind::inner, tuning), 72'003'000U);
    EXPECT_EQ(count_of(JoinKind::full, tuning), 72'007'000U);
    EXPECT_EQ(count_of(JoinKind::semi, tuning), 12'000U);
    EXPECT_EQ(count_of(JoinKind::anti, tuning), 3'000U);
    EXPECT_EQ(count_of(JoinKind::mark, tuning), 15'000U);
  }
}

TEST_F(DeviceKinds, KeptIndexesAreLookedUp) {
  auto const left = nullable_table(TypeId::int64, 200, 60, 0, 1, 1);
  auto const right = nullable_table(TypeId::int64, 300, 60, 30, 7, 1);
  auto left_there = upload(left);
  auto right_there = upload(right);
  ASSERT_TRUE(left_there.build_index("k"));
  ASSERT_TRUE(right_there.build_index("k"));
  for (auto const* const tuning : {"method=global,build=left", "method=global,build=right"})
    for (auto const kind : kKinds)
      for (bool const nulls_equal : {false, true})
        if (is_taken()) expect_there(left, right, left_there, right_there, of_kind(kind, nulls_equal), tuning);
}

/// Keys of two types come out in their common type, or as those of their tables where columns are named.
TEST_F(DeviceKinds, KeysOfTwoTypesAndNamedColumns) {
  auto named = [](JoinKind kind) {
    auto spec = of_kind(kind);
    spec.columns = {{Side::right, "k"}, {Side::left, "plain"}, {Side::left, "k"}, {Side::right, "plain"}};
    return spec;
  };
  for (bool const nulls : {false, true})
    for (auto const& pair : testing::mixed_keys(nulls)) {
      SCOPED_TRACE(pair.name);
      auto const left_there = upload(pair.left);
      auto const right_there = upload(pair.right);
      expect_there(pair.left, pair.right, left_there, right_there, of_kind(JoinKind::full), "");
      expect_there(pair.left, pair.right, left_there, right_there, named(JoinKind::full), "");
    }
}

TEST_F(DeviceKinds, OrderedRowsFollowTheTables) {
  auto const left = nullable_table(TypeId::int32, 300, 60, 0, 1, 1);
  auto const right = nullable_table(TypeId::int32, 200, 60, 30, 7, 1);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  auto const none = nullable_table(TypeId::int32, 0, 20, 0, 2, 1);
  auto const none_there = upload(none);
  for (auto const kind : kKinds) {
    auto spec = of_kind(kind);
    spec.ordered = true;
    if (is_taken()) expect_there(left, right, left_there, right_there, spec, "");
    if (is_taken()) expect_there(left, none, left_there, none_there, spec, "");
    if (is_taken()) expect_there(none, right, none_there, right_there, spec, "");
    spec.nulls_equal = true;
    spec.where = parse_condition("left.tiny < right.tiny or left.k = 3").value();
    if (is_taken()) expect_there(left, right, left_there, right_there, spec, "");
  }
}

/// Left rows of several blocks, most of whose places among pairs are shifted; a heavy key; kept indexes.
TEST_F(DeviceKinds, LeftRowsStandInPlaceAmongPairs) {
  auto const left = nullable_table(TypeId::int64, 6'000, 9'000, 0, 1, 1);
  auto const right = nullable_table(TypeId::int64, 5'000, 9'000, 3'000, 7, 1);
  auto const left_there = upload(left);
  auto right_there = upload(right);
  ASSERT_TRUE(right_there.build_index("k"));
  for (auto const kind : {JoinKind::left, JoinKind::full}) {
    auto spec = of_kind(kind);
    spec.ordered = true;
    if (kind == JoinKind::full) expect_there(left, right, left_there, right_there, spec, "");
    if (!is_taken()) continue;
    spec.where = parse_condition("left.tiny <= right.tiny").value();
    expect_there(left, right, left_there, right_there, spec, "");
  }
}

/// Values of all types that a device compares, with nulls.
TestTable compared_table(std::size_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestColumn<std::int32_t> keys{"k", type_of(TypeId::int32), {}, {}};
  TestColumn<std::int8_t> tiny{"tiny", type_of(TypeId::int8), {}, {}};
  TestColumn<std::int64_t> wide{"wide", type_of(TypeId::int64), {}, {}};
  TestColumn<std::uint16_t> small{"small", type_of(TypeId::uint16), {}, {}};
  TestColumn<double> real{"real", type_of(TypeId::float64), {}, {}};
  TestColumn<float> single{"single", type_of(TypeId::float32), {}, {}};
  TestColumn<std::int64_t> day{"day", type_of(TypeId::timestamp), {}, {}};
  constexpr std::array kReals{
      -1.5, -0.0, 0.0, 2.25, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < rows; ++i) {
    keys.values.push_back(static_cast<std::int32_t>(random() % 25) - 5);
    keys.valid.push_back(random() % 6 != 0);
    tiny.values.push_back(static_cast<std::int8_t>(random() % 9) - 4);
    tiny.valid.push_back(random() % 5 != 0);
    wide.values.push_back(static_cast<std::int64_t>(random() % 9) - 4 +
                          (random() % 4 == 0 ? std::int64_t{1} << 40 : 0));
    wide.valid.push_back(random() % 5 != 0);
    small.values.push_back(static_cast<std::uint16_t>(random() % 9));
    real.values.push_back(kReals[random() % kReals.size()]);
    real.valid.push_back(random() % 7 != 0);
    single.values.push_back(static_cast<float>(kReals[random() % kReals.size()]));
    day.values.push_back(static_cast<std::int64_t>(random() % 5) - 2);
  }
  return TestTable()
      .add(std::move(keys))
      .add(std::move(tiny))
      .add(std::move(wide))
      .add(std::move(small))
      .add(std::move(real))
      .add(std::move(single))
      .add(std::move(day));
}

TEST_F(DeviceKinds, ConditionsAreTestedThere) {
  auto const left = compared_table(150, 1).build(40);
  auto const right = compared_table(90, 2).build();
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  auto const expect_tested = [&](JoinKind kind, char const* where, std::string_view tuning, bool nulls_equal = false) {
    SCOPED_TRACE(where);
    auto spec = of_kind(kind, nulls_equal);
    spec.where = parse_condition(where).value();
    expect_there(left, right, left_there, right_there, spec, tuning);
  };
  for (auto const kind : kKinds) {
    expect_tested(kind, "left.tiny < right.wide", "payload=carry");
    expect_tested(kind, "not (left.real > right.real or right.small = 3) and left.wide <> -2", "method=global", true);
    expect_tested(kind, "left.tiny > 100", "");
  }
  for (auto const* const where : {"left.real = right.real", "left.single <= right.single", "left.day >= right.day",
                                  "left.small < right.small and left.small > 1", "left.wide = right.tiny",
                                  "left.tiny > right.small or left.k = 3", "left.tiny < left.wide"})
    expect_tested(JoinKind::full, where, "payload=carry");
  expect_tested(JoinKind::inner, "left.tiny < 1000000", "");
}

/// Columns of the host's tables that the join reads go up, and its rows come down.
TEST_F(DeviceKinds, TablesOfTheHostAreBroughtThere) {
  auto const left = compared_table(150, 1).build(40);
  auto const right = compared_table(90, 2).build();
  auto const nullable = nullable_table(TypeId::int64, 120, 60, 30, 7, 1);
  auto const nulls = nullable_table(TypeId::int64, 80, 60, 0, 1, 4);
  auto const none = nullable_table(TypeId::int64, 0, 1, 0, 1, 0);
  auto const expect_brought = [](Table const& one, Table const& other, JoinSpec const& spec,
                                 std::string const& tuning) {
    SCOPED_TRACE(std::string(to_string(spec.kind)) + (spec.nulls_equal ? ", nulls equal" : "") +
                 (spec.ordered ? ", ordered" : "") + (spec.where ? ", where " + to_string(*spec.where) : "") + " " +
                 tuning);
    auto const expected = reference::reference_join_table(one.view(), other.view(), spec);
    auto options = tuned("placement=device" + (tuning.empty() ? "" : "," + tuning));
    options.path = Path::compute;
    options.device = "0";
    auto const joined = engine().join(one.view(), other.view(), spec, options);
    ASSERT_TRUE(joined) << joined.error().describe();
    auto const rows = collect(**joined);
    ASSERT_TRUE(rows) << rows.error().describe();
    bool const has_left_only =
        spec.kind == JoinKind::semi || spec.kind == JoinKind::anti || spec.kind == JoinKind::mark;
    if (spec.ordered || has_left_only) {
      EXPECT_EQ(reference::read_table(rows->view()), expected);
    } else {
      expect_same(*rows, expected);
    }
    auto const stats = (*joined)->stats();
    EXPECT_EQ(stats.rows_out, expected.rows.size());
    EXPECT_TRUE(std::ranges::any_of(stats.phases, [](auto const& phase) { return phase.name == "upload"; }) ||
                one.num_rows() + other.num_rows() == 0);
    auto const counted = engine().join_count(one.view(), other.view(), spec, options);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
    auto const plan = engine().explain_join(one.view(), other.view(), spec, options);
    ASSERT_TRUE(plan) << plan.error().describe();
    EXPECT_NE(to_string(*plan).find("both tables go there whole"), std::string::npos) << to_string(*plan);
  };
  for (auto const kind : kKinds)
    for (auto const nulls_equal : {false, true}) {
      auto spec = of_kind(kind, nulls_equal);
      spec.where = parse_condition("left.tiny < right.wide and not left.real > right.real").value();
      if (is_taken()) expect_brought(left, right, spec, "");
      spec.where.reset();
      spec.ordered = true;
      if (is_taken()) expect_brought(nullable, nulls, spec, "");
      spec.ordered = false;
      if (kind == JoinKind::inner && !nulls_equal) continue;  // these stream
      if (is_taken()) expect_brought(nulls, nullable, spec, "method=global,chunk_rows=50");
      expect_brought(none, nullable, spec, "");
      expect_brought(nullable, none, spec, "");
    }
}

/// Rows that lack a side are joined again: its columns are null, the keys' values are there.
TEST_F(DeviceKinds, AResultIsATableToJoinAgain) {
  auto spec = of_kind(JoinKind::full);
  spec.columns = {{Side::right, "k"}, {Side::left, "k"}, {Side::left, "tiny"}, {Side::right, "wide"}};
  auto const left = nullable_table(TypeId::int32, 90, 60, 0, 1, 1);
  auto const right = nullable_table(TypeId::int32, 70, 60, 30, 7, 1);
  auto const first = join(upload(left), upload(right), spec);
  auto const on_host = download(first);
  auto const third = nullable_table(TypeId::int32, 80, 60, 10, 9, 1);
  auto const third_there = upload(third);
  for (auto const* const key : {"k", "k_right"})
    for (auto const kind : {JoinKind::inner, JoinKind::full, JoinKind::mark}) {
      auto again = of_kind(kind);
      again.on = {{key, "k"}};
      expect_there(on_host, third, first, third_there, again, "");
    }
}

}  // namespace
}  // namespace garuda
