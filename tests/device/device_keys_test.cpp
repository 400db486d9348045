// Joins of tables on a device by several key columns, and by all types of one, and group-bys by these, where the tables
// live: results equal the oracle's. A random case is a function of its seed, which a failure names.
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
#include "keys/codes/key_types.hpp"
#include "operators/device/device_table.hpp"
#include "tests/device/mixed_device_tables.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/mixed_tables.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::columns_there;
using testing::kKinds;
using testing::MixedTable;
using testing::pick;
using testing::random_mixed_table;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;
using Random = std::mt19937_64;
using KeyNames = std::vector<std::pair<std::string, std::string>>;

constexpr std::array kWays{"", "", "payload=gather", "method=global", "payload=carry,build=left"};

class DeviceKeys : public testing::MixedDeviceTables {
 protected:
  static JoinSpec on(KeyNames keys, JoinKind kind, bool nulls_equal = false) {
    JoinSpec spec;
    spec.on = std::move(keys);
    spec.kind = kind;
    spec.nulls_equal = nulls_equal;
    return spec;
  }

  static void expect_groups(Table const& table, DeviceTable const& there, std::vector<std::string> keys,
                            std::string_view aggregates, bool ordered) {
    GroupBySpec spec;
    spec.keys = std::move(keys);
    if (!aggregates.empty()) spec.aggregates = parse_aggregates(aggregates).value();
    spec.ordered = ordered;
    auto const grouped = engine().group_by(there.view(), spec);
    ASSERT_TRUE(grouped) << grouped.error().describe();
    EXPECT_TRUE(is_there((*grouped)->plan())) << to_string((*grouped)->plan());
    auto const rows = collect(**grouped);
    ASSERT_TRUE(rows) << rows.error().describe();
    auto const actual = reference::read_table(rows->view());
    auto const expected = reference::reference_group_by(table.view(), spec);
    EXPECT_EQ(ordered ? actual : reference::sorted(actual), ordered ? expected : reference::sorted(expected));
  }

  static std::string detail(Plan const& plan, std::string_view name) {
    auto const found = std::ranges::find(plan.details, name, [](auto const& row) { return row.first; });
    return found == plan.details.end() ? std::string() : found->second;
  }
};

std::uint64_t num_cases() {
  if (testing::is_bounded()) return 12;  // under a sanitizer
  return testing::random_cases(Path::compute, 0, 60);
}

Field const& field_named(Schema const& schema, std::string const& name) {
  return *std::ranges::find_if(schema, [&](Field const& field) { return field.name == name; });
}

/// Pairs of columns that have a common type, most of them of one.
KeyNames random_keys(Schema const& schema, Random& random) {
  auto names = columns_there();
  std::ranges::shuffle(names, random);
  names.resize(1 + random() % 4);
  KeyNames keys;
  std::vector<std::string> taken;
  for (auto const& left : names) {
    auto right = left;
    if (random() % 4 == 0) {
      auto partners = columns_there();
      std::erase_if(partners, [&](std::string const& name) {
        return !keys::common_key_type(field_named(schema, left), field_named(schema, name));
      });
      right = partners[random() % partners.size()];
    }
    if (std::ranges::find(taken, right) != taken.end()) continue;
    taken.push_back(right);
    keys.emplace_back(left, right);
  }
  return keys;
}

/// Whether a device compares columns of these names: of others some values leave 64 bits in the unit or scale of both.
bool are_compared(std::string const& left, std::string const& right) {
  constexpr std::array kOthers{"i64", "u64", "d38", "d76", "bytes", "fixed"};
  auto const is_other = [&](std::string const& name) { return std::ranges::find(kOthers, name) != kOthers.end(); };
  return left == right || (!is_other(left) && !is_other(right));
}

TEST_F(DeviceKeys, RandomKeysOfEveryKind) {
  auto const first = testing::first_seed(11'000);
  for (auto seed = first; seed < first + num_cases() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto left = random_mixed_table(random);
    auto right = random_mixed_table(random);
    auto spec = on(random_keys(left.schema(), random), kKinds[random() % kKinds.size()], random() % 2 == 0);
    auto const others = columns_there();
    std::array<std::vector<std::string>, 2> picked{{{"n", others[random() % others.size()]}, {"n"}}};
    bool of_one_type = true;
    bool there = true;
    for (auto const& [of_left, of_right] : spec.on) {
      picked[0].push_back(of_left);
      picked[1].push_back(of_right);
      of_one_type = of_one_type && of_left == of_right;
      there = there && are_compared(of_left, of_right);
    }
    left = pick(left, picked[0]);
    right = pick(right, picked[1]);
    spec.ordered = random() % 3 == 0;
    if (random() % 4 == 0) spec.where = parse_condition("left.n < right.n or left.n = 3").value();
    bool const has_right = spec.kind <= JoinKind::full;
    bool const chooses = random() % 3 == 0 && has_right;
    // The oracle shows keys of two types as their tables have them.
    if (chooses || (!of_one_type && has_right))
      spec.columns = {{Side::right, picked[1].back()}, {Side::left, "n"}, {Side::left, picked[0].back()}};
    auto const* const way = spec.ordered ? "" : kWays[random() % kWays.size()];
    expect_rows(left, right, upload(left), upload(right), spec, way, there);
  }
}

/// Strings among them, and columns of two types where no value of these leaves 64 bits.
TEST_F(DeviceKeys, HostTablesGoWholeByKeysOfEveryKind) {
  // Names of the columns that a device can hold.
  auto const names_of = [](Schema const& schema) {
    auto names = columns_there();
    std::erase_if(names,
                  [&](std::string const& name) { return !device::device_words(field_named(schema, name).type); });
    return names;
  };
  auto whole = tuned("placement=device");
  whole.path = Path::compute;
  whole.device = "0";
  auto const first = testing::first_seed(14'000);
  for (auto seed = first; seed < first + num_cases() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto left = random_mixed_table(random);
    auto right = random_mixed_table(random);
    auto const names = names_of(left.schema());
    auto keys = random_keys(left.schema(), random);
    // One plain key streams.
    auto const is_k = [](auto const& pair) { return pair.first == "k" || pair.second == "k"; };
    if (std::ranges::none_of(keys, is_k)) keys.emplace_back("k", "k");
    if (keys.size() == 1) keys = {{"k", "k"}, {"i8", "i8"}};
    auto spec = on(keys, kKinds[random() % kKinds.size()], random() % 2 == 0);
    std::array<std::vector<std::string>, 2> picked{{{"n", names[random() % names.size()]}, {"n"}}};
    bool of_one_type = true;
    for (auto const& [of_left, of_right] : keys) {
      picked[0].push_back(of_left);
      picked[1].push_back(of_right);
      of_one_type = of_one_type && of_left == of_right;
    }
    bool const of_strings = random() % 4 == 0;
    if (of_strings) picked[0].emplace_back("text");
    if (of_strings) picked[1].emplace_back("view");
    left = pick(left, picked[0]);
    right = pick(right, picked[1]);
    spec.ordered = random() % 3 == 0;
    if (of_strings) {
      spec.where = parse_condition("left.text < right.view or right.view = 'ab'").value();
    } else if (random() % 4 == 0) {
      spec.where = parse_condition("left.n < right.n or left.n = 3").value();
    }
    // The oracle shows keys of two types as their tables have them.
    if (!of_one_type && spec.kind <= JoinKind::full)
      spec.columns = {{Side::right, picked[1].back()}, {Side::left, "n"}, {Side::left, picked[0].back()}};
    auto const joined = engine().join(left.view(), right.view(), spec, whole);
    if (!joined && !of_one_type) {
      EXPECT_EQ(joined.error().code(), ErrorCode::invalid_input);
      EXPECT_NE(joined.error().message().find("tables brought to a device whole"), std::string::npos)
          << joined.error().describe();
      continue;
    }
    ASSERT_TRUE(joined) << joined.error().describe();
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const rows = collect(**joined);
    ASSERT_TRUE(rows) << rows.error().describe();
    if (spec.ordered) {
      EXPECT_EQ(reference::read_table(rows->view()).rows, expected.rows);
    } else {
      expect_same(*rows, expected);
    }
    auto const counted = engine().join_count(left.view(), right.view(), spec, whole);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
    auto const plan = engine().explain_join(left.view(), right.view(), spec, whole);
    ASSERT_TRUE(plan) << plan.error().describe();
    EXPECT_NE(detail(*plan, "composed keys").find("on the device"), std::string::npos) << to_string(*plan);
  }
}

TEST_F(DeviceKeys, RandomKeysOfGroupBys) {
  auto const first = testing::first_seed(12'000);
  for (auto seed = first; seed < first + num_cases() / 2 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto table = random_mixed_table(random);
    auto keys = columns_there();
    std::ranges::shuffle(keys, random);
    keys.resize(1 + random() % 4);
    auto columns = keys;
    columns.emplace_back("n");
    table = pick(table, columns);
    expect_groups(table, upload(table), keys, "count,sum:n=total,max:n=last", random() % 2 == 0);
  }
}

/// Two columns whose values lie `step` apart, some of them null, and one beside them.
Table pairs_of(TypeId type, std::size_t rows, std::int64_t first, std::int64_t step, std::uint64_t seed,
               std::uint64_t null_each) {
  Random random(seed);
  TestColumn<std::int32_t> narrow{"a", type_of(TypeId::int32), {}, {}};
  TestColumn<std::int64_t> wide{"b", type_of(TypeId::int64), {}, {}};
  TestColumn<std::int32_t> word{"b", type_of(TypeId::int32), {}, {}};
  TestColumn<std::int32_t> number{"n", type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    narrow.values.push_back(static_cast<std::int32_t>(random() % 7) - 3);
    narrow.valid.push_back(null_each == 0 || random() % null_each != 0);
    wide.values.push_back((first + static_cast<std::int64_t>(random() % 9)) * step);
    wide.valid.push_back(null_each == 0 || random() % null_each != 0);
    word.values.push_back(static_cast<std::int32_t>(wide.values.back()));
    number.values.push_back(static_cast<std::int32_t>(i));
  }
  word.valid = wide.valid;
  TestTable table;
  table.add(std::move(number)).add(std::move(narrow));
  if (type == TypeId::int64) {
    table.add(std::move(wide));
  } else {
    table.add(std::move(word));
  }
  return table.build(80);
}

/// Packed in 32 and in 64 bits, of two widths, and numbered where the ranges do not fit.
TEST_F(DeviceKeys, EqualTheOracleByEveryMethod) {
  struct Case {
    TypeId left;
    TypeId right;
    std::int64_t step;
    char const* how;
  };
  constexpr auto kFar = std::int64_t{1} << 50;
  constexpr auto kFarther = std::int64_t{1} << 60;
  std::uint64_t cases = 0;
  std::uint64_t turn = 0;
  for (auto const& [left_type, right_type, step, how] :
       {Case{TypeId::int32, TypeId::int32, 1, "2 columns packed in 7 bits on the device"},
        Case{TypeId::int32, TypeId::int64, 1'000, "2 columns packed in 17 bits on the device"},
        Case{TypeId::int64, TypeId::int64, kFar, "2 columns packed in 57 bits on the device"},
        Case{TypeId::int64, TypeId::int64, kFarther, "2 columns, 3 words, numbered on the device"}}) {
    SCOPED_TRACE(how);
    auto const left = pairs_of(left_type, 240, -4, step, 1, 5);
    auto const right = pairs_of(right_type, 190, 0, step, 2, 7);
    auto const left_there = upload(left);
    auto const right_there = upload(right);
    auto const keys = KeyNames{{"a", "a"}, {"b", "b"}};
    auto const plan = engine().explain_join(left_there.view(), right_there.view(), on(keys, JoinKind::inner)).value();
    EXPECT_EQ(detail(plan, "composed keys"), how);
    constexpr std::array kMethods{"payload=carry", "payload=gather,build=left", "method=global"};
    for (bool const nulls_equal : {false, true})
      for (auto const kind : kKinds) {
        // All of packed keys of 32 bits, of others in turn.
        for (std::size_t m = 0; m < kMethods.size(); ++m) {
          ++cases;
          if ((step != 1 && turn % kMethods.size() != m) || !testing::takes_compiled_case(cases)) continue;
          expect_rows(left, right, left_there, right_there, on(keys, kind, nulls_equal), kMethods[m]);
        }
        bool const is_marked = kind == JoinKind::semi || kind == JoinKind::anti || kind == JoinKind::mark;
        if (is_marked && step != kFar)
          expect_rows(left, right, left_there, right_there, on(keys, kind, nulls_equal), "method=bitmap");
        auto ordered = on(keys, kind, nulls_equal);
        ordered.ordered = true;
        if (++turn % 3 == 0 && testing::takes_compiled_case(cases))
          expect_rows(left, right, left_there, right_there, ordered, "");
      }
    expect_groups(left, left_there, {"a", "b"}, "count,sum:n", true);
  }
}

TEST_F(DeviceKeys, SidesWithoutRowsOrKeys) {
  auto const some = pairs_of(TypeId::int64, 40, 0, 1, 1, 6);
  auto const none = pairs_of(TypeId::int32, 0, 0, 1, 2, 6);
  auto const null_keys = pairs_of(TypeId::int64, 30, 0, 1, 3, 1);
  auto const far = pairs_of(TypeId::int64, 30, -4, std::int64_t{1} << 60, 4, 4);
  auto const keys = KeyNames{{"a", "a"}, {"b", "b"}};
  std::vector<DeviceTable> there;
  std::array<Table const*, 4> const tables{&some, &none, &null_keys, &far};
  for (auto const* const table : tables) there.push_back(upload(*table));
  std::uint64_t cases = 0;
  for (std::size_t l = 0; l < tables.size(); ++l)
    for (std::size_t r = 0; r < tables.size(); ++r)
      for (bool const nulls_equal : {false, true})
        for (auto const kind : kKinds)
          if (testing::takes_compiled_case(cases++))
            expect_rows(*tables[l], *tables[r], there[l], there[r], on(keys, kind, nulls_equal), "");
}

/// Zeros of both signs are one key, and so are all NaN, in the bits that their tables have.
TEST_F(DeviceKeys, FloatsAreComparedAsNumbers) {
  using Limits = std::numeric_limits<double>;
  auto const table_of = [](std::vector<double> values, std::vector<bool> valid) {
    TestColumn<float> single{"s", type_of(TypeId::float32), {}, {}};
    for (auto const value : values) single.values.push_back(static_cast<float>(value));
    TestColumn<std::int32_t> number{"n", type_of(TypeId::int32), {}, {}};
    for (std::size_t i = 0; i < values.size(); ++i) number.values.push_back(static_cast<std::int32_t>(i));
    return TestTable()
        .add(std::move(number))
        .add(std::move(single))
        .add(TestColumn<double>{"d", type_of(TypeId::float64), std::move(values), std::move(valid)})
        .build();
  };
  auto const left = table_of({0.0, -0.0, Limits::quiet_NaN(), 1.5, Limits::infinity(), 7, -2.25},
                             {true, true, true, true, true, false, true});
  auto const right = table_of({-0.0, -Limits::quiet_NaN(), -1.5, Limits::infinity(), 1.5, 7, Limits::denorm_min()},
                              {true, true, true, true, true, false, true});
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  std::uint64_t cases = 0;
  for (auto const kind : kKinds)
    for (bool const nulls_equal : {false, true})
      for (auto const& keys : {KeyNames{{"d", "d"}}, KeyNames{{"s", "s"}}, KeyNames{{"s", "s"}, {"d", "d"}}})
        if (testing::takes_compiled_case(cases++))
          expect_rows(left, right, left_there, right_there, on(keys, kind, nulls_equal), "");
}

/// The two types of a key differ in more than their width; keys of both sides become the type that holds both.
TEST_F(DeviceKeys, ConvertedKeysEqualThoseOfTheHost) {
  KeyNames const pairs{{"second", "micro"}, {"zoned", "utc"}, {"day", "day64"}, {"time64", "time32"}, {"f16", "f32"},
                       {"f64", "f16"},      {"f32", "f64"},   {"i8", "f16"},    {"f32", "u8"},        {"i16", "f32"},
                       {"i32", "f64"},      {"f64", "u32"},   {"d18", "d9"},    {"i8", "d9"},         {"d18", "u32"},
                       {"i32", "d38"},      {"d76", "d9"},    {"u8", "d76"},    {"i16", "d18"},       {"d38", "d76"}};
  auto const left = MixedTable{90, 50, 8, 1}.build(3);
  auto const right = MixedTable{80, 0, 8, 1}.build(4);
  JoinOptions on_host;
  on_host.path = Path::cpu;
  std::uint64_t cases = 0;
  for (auto const& pair : pairs) {
    bool const is_last = pair == pairs.back();
    auto const one = pick(left, {pair.first, "n", "k"});
    auto const other = pick(right, {pair.second, "n", "k"});
    auto const one_there = upload(one);
    auto const other_there = upload(other);
    for (auto const kind : {JoinKind::full, JoinKind::right, JoinKind::semi})
      for (bool const nulls_equal : {false, true}) {
        if (!testing::takes_compiled_case(cases++)) continue;
        auto spec = on({pair}, kind, nulls_equal);
        if (nulls_equal) spec.on.emplace_back("k", "k");
        SCOPED_TRACE(pair.first + " = " + pair.second + ", " + std::string(to_string(kind)));
        auto const joined = engine().join(one_there.view(), other_there.view(), spec);
        ASSERT_TRUE(joined) << joined.error().describe();
        EXPECT_EQ(is_there((*joined)->plan()), !is_last) << to_string((*joined)->plan());
        auto const rows = collect(**joined).value();
        auto const expected = collect(*engine().join(one.view(), other.view(), spec, on_host).value()).value();
        EXPECT_EQ(rows.schema(), expected.schema());
        EXPECT_EQ(reference::sorted(reference::read_table(rows.view())),
                  reference::sorted(reference::read_table(expected.view())));
      }
  }
}

/// Seconds that no int64 counts in nanoseconds, which the host compares.
TEST_F(DeviceKeys, ValuesBeyondTheUnitOfBothAreThoseOfCopies) {
  auto nano = type_of(TypeId::timestamp);
  nano.unit = TimeUnit::nanosecond;
  auto const seconds = type_of(TypeId::timestamp);
  auto const left = TestTable().add(TestColumn<std::int64_t>{"t", seconds, {1, std::int64_t{1} << 40, -2}, {}}).build();
  auto const right = TestTable().add(TestColumn<std::int64_t>{"t", nano, {1'000'000'000, 5, 7}, {}}).build();
  auto spec = on({{"t", "t"}}, JoinKind::inner);
  spec.columns = {{Side::left, "t"}, {Side::right, "t"}};
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  expect_rows(left, right, left_there, right_there, spec, "", false);
  auto const refused = engine().join(left_there.view(), right_there.view(), spec, tuned("placement=device"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_input);
  EXPECT_NE(refused.error().message().find("64 bits"), std::string::npos) << refused.error().describe();
}

TEST_F(DeviceKeys, AsManyAsAJoinTakes) {
  Random random(5);
  TestTable left;
  TestTable right;
  KeyNames keys;
  for (int c = 0; c < 16; ++c) {
    auto const name = "c" + std::to_string(c);
    TestColumn<std::int32_t> one{name, type_of(TypeId::int32), {}, {}};
    TestColumn<std::int32_t> other = one;
    for (int i = 0; i < 60; ++i) {
      one.values.push_back(c < 14 ? 7 : static_cast<std::int32_t>(random() % 4) << (c == 14 ? 29 : 0));
      other.values.push_back(c < 14 ? 7 : static_cast<std::int32_t>(random() % 4) << (c == 14 ? 29 : 0));
      other.valid.push_back(random() % 20 != 0);
    }
    left.add(std::move(one));
    right.add(std::move(other));
    keys.emplace_back(name, name);
  }
  auto const left_table = left.build();
  auto const right_table = right.build();
  auto const left_there = upload(left_table);
  auto const right_there = upload(right_table);
  for (auto const kind : {JoinKind::inner, JoinKind::full, JoinKind::anti})
    for (bool const nulls_equal : {false, true})
      expect_rows(left_table, right_table, left_there, right_there, on(keys, kind, nulls_equal), "");
}

/// A key of both sides in a result is a column like any other, in the type of both.
TEST_F(DeviceKeys, AResultIsATableToJoinAgain) {
  auto const left = pairs_of(TypeId::int32, 90, -4, 3, 1, 6);
  auto const right = pairs_of(TypeId::int64, 70, 0, 3, 2, 6);
  auto const keys = KeyNames{{"a", "a"}, {"b", "b"}};
  auto const first = join(upload(left), upload(right), on(keys, JoinKind::full));
  EXPECT_EQ(first.schema()[2].type.id, TypeId::int64);
  auto const on_host = download(first);
  auto const third = pairs_of(TypeId::int64, 80, -2, 3, 3, 6);
  auto const third_there = upload(third);
  for (auto const kind : {JoinKind::inner, JoinKind::full, JoinKind::mark})
    expect_rows(on_host, third, first, third_there, on(keys, kind, true), "");
  expect_groups(on_host, first, {"b", "a"}, "count", true);
}

}  // namespace
}  // namespace garuda
