// Tables on a device through the public API: what goes up comes down, and joins there equal the oracle's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "garuda/engine.hpp"
#include "tests/device/device_tables.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/mixed_keys.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::DeviceTables;
using testing::keyed_table;
using testing::random_column;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

TEST_F(DeviceTables, WhatGoesUpComesDown) {
  for (std::size_t const rows : {0U, 1U, 33U, 1'000U}) {
    TestTable table;
    table.add(random_column<std::int8_t>("a", TypeId::int8, rows, 1, true))
        .add(random_column<std::uint16_t>("b", TypeId::uint16, rows, 2, false))
        .add(random_column<std::int32_t>("c", TypeId::int32, rows, 3, true))
        .add(random_column<std::int64_t>("d", TypeId::timestamp, rows, 4, true))
        .add(random_column<std::uint64_t>("e", TypeId::uint64, rows, 5, false));
    for (std::int64_t const batch_rows : {0, 7}) {
      auto const original = table.build(batch_rows);
      auto const there = upload(original);
      EXPECT_EQ(there.num_rows(), rows);
      EXPECT_EQ(there.schema(), original.schema());
      // Narrow values take a word each, nulls one word a row.
      EXPECT_EQ(there.device_bytes() >= rows * 4 * (1 + 1 + 1 + 2 + 2 + 1), true);
      auto const back = download(there);
      EXPECT_EQ(reference::read_table(back.view()).rows, reference::read_table(original.view()).rows);
    }
  }
}

TEST_F(DeviceTables, BooleansAndManyColumnsWithNulls) {
  std::vector<std::uint8_t> bits{0b10110101, 0b01010110, 0b1};
  ArrayView flags;
  flags.length = 14;
  flags.offset = 3;
  flags.values = bits.data();
  std::vector<std::int32_t> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  std::vector<std::uint8_t> validity(80);
  Schema schema{{"flag", type_of(TypeId::boolean), true}};
  Batch batch;
  batch.num_rows = 14;
  batch.columns.push_back(flags);
  // More columns with nulls than one word has bits.
  for (std::size_t c = 0; c < 40; ++c) {
    validity[2 * c] = static_cast<std::uint8_t>(c * 37 + 1);
    validity[2 * c + 1] = static_cast<std::uint8_t>(c);
    ArrayView array;
    array.length = 14;
    array.values = numbers.data();
    array.validity = &validity[2 * c];
    schema.push_back({std::string("c").append(std::to_string(c)), type_of(TypeId::int32), true});
    batch.columns.push_back(array);
  }
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  Table const original(schema, std::move(batches));
  auto const back = download(upload(original));
  EXPECT_EQ(reference::read_table(back.view()).rows, reference::read_table(original.view()).rows);
}

TEST_F(DeviceTables, JoinsEqualTheOracle) {
  JoinSpec some_columns = on_keys();
  some_columns.columns = {{Side::right, "wide"}, {Side::left, "tiny"}, {Side::right, "k"}, {Side::left, "tiny"}};
  JoinSpec key_alone = on_keys();
  key_alone.columns = {{Side::right, "k"}};
  for (auto const* const tuning : {"", "payload=gather", "payload=carry", "method=partitioned", "method=global"}) {
    auto const options = tuned(tuning);
    // What is not gathered depends on the spec alone.
    auto const specs =
        std::string_view(tuning).empty() ? std::vector{on_keys(), some_columns, key_alone} : std::vector{some_columns};
    for (auto const& spec : specs) {
      SCOPED_TRACE(tuning);
      expect_join(keyed_table<std::int32_t>(TypeId::int32, 700, 300, 1).build(),
                  keyed_table<std::int32_t>(TypeId::int32, 900, 400, 2).build(100), spec, options);
      expect_join(keyed_table<std::int64_t>(TypeId::int64, 900, 900, 3).build(),
                  keyed_table<std::int64_t>(TypeId::int64, 300, 900, 4).build(), spec, options);
    }
  }
  // Narrow and negative keys; few matches, many; no rows.
  expect_join(keyed_table<std::int8_t>(TypeId::int8, 60, 200, 5).build(),
              keyed_table<std::int8_t>(TypeId::int8, 70, 200, 6).build(), on_keys());
  expect_join(keyed_table<std::int32_t>(TypeId::date32, 2'000, 1'000'000, 7).build(),
              keyed_table<std::int32_t>(TypeId::date32, 1'000, 1'000'000, 8).build(), on_keys());
  expect_join(keyed_table<std::uint16_t>(TypeId::uint16, 100, 1, 9).build(),
              keyed_table<std::uint16_t>(TypeId::uint16, 200, 1, 10).build(), on_keys());
  expect_join(keyed_table<std::int64_t>(TypeId::int64, 0, 1, 11).build(),
              keyed_table<std::int64_t>(TypeId::int64, 20, 2, 12).build(), on_keys());
}

TEST_F(DeviceTables, OrderedRowsFollowTheTables) {
  auto ordered = on_keys();
  ordered.ordered = true;
  auto const expect_ordered = [&](Table const& left, Table const& right) {
    auto const left_there = upload(left);
    auto const right_there = upload(right);
    auto const joined = engine().join(left_there.view(), right_there.view(), ordered);
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_EQ((*joined)->plan().tuning, "build=right,method=global,placement=device");
    auto const actual = download(take(joined));
    EXPECT_EQ(reference::read_table(actual.view()).rows,
              reference::reference_join_table(left.view(), right.view(), ordered).rows);
  };
  expect_ordered(keyed_table<std::int32_t>(TypeId::int32, 700, 300, 1).build(),
                 keyed_table<std::int32_t>(TypeId::int32, 900, 400, 2).build(100));
  expect_ordered(keyed_table<std::int64_t>(TypeId::int64, 900, 20, 3).build(50),
                 keyed_table<std::int64_t>(TypeId::int64, 100, 25, 4).build());
  expect_ordered(keyed_table<std::int8_t>(TypeId::int8, 60, 200, 5).build(),
                 keyed_table<std::int8_t>(TypeId::int8, 0, 200, 6).build());
}

/// Rows of a table whose keys are drawn from few values and null now and then.
TestTable with_null_keys(std::size_t rows, std::uint64_t seed, bool all_null = false) {
  auto keys = random_column<std::int16_t>("k", TypeId::int16, rows, seed, true);
  for (auto& key : keys.values) key = static_cast<std::int16_t>(key % 40);
  if (all_null) keys.valid.assign(rows, false);
  return TestTable()
      .add(random_column<std::int64_t>("wide", TypeId::int64, rows, seed + 1, true))
      .add(std::move(keys))
      .add(random_column<std::int8_t>("tiny", TypeId::int8, rows, seed + 2, false));
}

TEST_F(DeviceTables, NullKeysMatchNothing) {
  for (auto const* const tuning : {"", "payload=gather", "method=global"}) {
    SCOPED_TRACE(tuning);
    auto const options = tuned(tuning);
    expect_join(with_null_keys(300, 1).build(), with_null_keys(500, 2).build(70), on_keys(), options);
    expect_join(with_null_keys(300, 1).build(), keyed_table<std::int16_t>(TypeId::int16, 90, 40, 2).build(), on_keys(),
                options);
    expect_join(with_null_keys(40, 3, true).build(), with_null_keys(50, 2).build(), on_keys(), options);
  }
  auto ordered = on_keys();
  ordered.ordered = true;
  expect_join(with_null_keys(300, 1).build(), with_null_keys(500, 2).build(), ordered);
}

JoinSpec both_keys_and_payload(JoinSpec spec) {
  spec.columns = {{Side::right, "k"}, {Side::left, "plain"}, {Side::left, "k"}, {Side::right, "plain"}};
  return spec;
}

TEST_F(DeviceTables, KeysOfTwoTypesEqualTheOracle) {
  for (auto const& pair : testing::mixed_keys(true)) {
    SCOPED_TRACE(pair.name);
    expect_join(pair.left, pair.right, both_keys_and_payload(on_keys()));
  }
  auto const without_nulls = testing::mixed_keys(false);
  auto const options = tuned("payload=gather");
  expect_join(without_nulls[0].left, without_nulls[0].right, both_keys_and_payload(on_keys()), options);
  auto ordered = both_keys_and_payload(on_keys());
  ordered.ordered = true;
  expect_join(without_nulls[6].left, without_nulls[6].right, ordered);
}

/// One side empty: the result has the columns' types all the same.
TEST_F(DeviceTables, KeysOfTwoTypesWithoutRows) {
  auto const none = testing::mixed_table<std::int64_t>(type_of(TypeId::int64), 0, 1, false);
  auto const some = testing::mixed_table<std::int8_t>(type_of(TypeId::int8), 30, 2, false);
  expect_join(none, some, both_keys_and_payload(on_keys()));
  expect_join(some, none, both_keys_and_payload(on_keys()));
}

/// A joined table of keys of another width is one to join again.
TEST_F(DeviceTables, AResultOfKeysOfTwoTypesIsATable) {
  auto const pairs = testing::mixed_keys(true);
  auto const first = join(upload(pairs[6].left), upload(pairs[6].right), on_keys());
  auto const on_host = download(first);
  expect_same(download(join(first, upload(pairs[5].right), on_keys())),
              reference::reference_join_table(on_host.view(), pairs[5].right.view(), on_keys()));
}

/// Keys of two integer types, and decimals of which one row goes beyond 64 bits.
TEST_F(DeviceTables, WideKeysEqualTheOracle) {
  auto const i16 = testing::mixed_table<std::int16_t>(type_of(TypeId::int16), 30, 1, false);
  auto const u32 = testing::mixed_table<std::uint32_t>(type_of(TypeId::uint32), 30, 2, false);
  auto const d64 = testing::mixed_table<std::int64_t>(testing::decimal_of(TypeId::decimal64, 9), 30, 3, false);
  auto const wide = testing::with_key_beyond_64_bits(100, 77);
  expect_join(i16, u32, on_keys());
  expect_join(wide, d64, on_keys());
  expect_join(d64, wide, on_keys());
  expect_join(wide, wide, on_keys());
}

TEST_F(DeviceTables, ExpectedRowsChangeNothing) {
  JoinOptions options;
  for (std::uint64_t const expected : {1, 700, 10'000'000}) {
    options.expected_rows = expected;
    expect_join(keyed_table<std::int32_t>(TypeId::int32, 700, 300, 1).build(),
                keyed_table<std::int32_t>(TypeId::int32, 900, 400, 2).build(), on_keys(), options);
  }
}

GroupBySpec all_of_group_by(char const* key) {
  using Function = AggregateFunction;
  return {{key},
          {{Function::count, std::nullopt, std::nullopt},
           {Function::sum, "word", std::nullopt},
           {Function::min, "word", "least"},
           {Function::max, "small", "greatest"}},
          false};
}

TEST_F(DeviceTables, GroupBysEqualTheOracle) {
  auto const expect_groups = [&](Table const& table, GroupBySpec const& spec, char const* tuning,
                                 std::uint64_t expected_groups) {
    SCOPED_TRACE(tuning);
    auto const there = upload(table);
    GroupByOptions options;
    options.tuning = *parse_group_by_tuning(tuning);
    options.expected_rows = expected_groups;
    auto const grouped = engine().group_by(there.view(), spec, options);
    ASSERT_TRUE(grouped) << grouped.error().describe();
    auto const groups = take(grouped);
    EXPECT_EQ((*grouped)->stats().path, Path::compute);
    EXPECT_EQ((*grouped)->stats().rows_out, groups.num_rows());
    expect_same(download(groups), reference::reference_group_by(table.view(), spec));
  };
  auto const ints = keyed_table<std::int32_t>(TypeId::int32, 2'000, 300, 1).build(700);
  for (char const* const tuning : {"", "method=shared", "method=hash", "method=partitioned"})
    expect_groups(ints, all_of_group_by("k"), tuning, 0);
  expect_groups(keyed_table<std::int64_t>(TypeId::int64, 900, 900, 3).build(), all_of_group_by("k"), "", 5);
  expect_groups(keyed_table<std::int8_t>(TypeId::int8, 60, 200, 5).build(), all_of_group_by("k"), "", 0);
  expect_groups(keyed_table<std::int32_t>(TypeId::date32, 1, 1, 5).build(), all_of_group_by("k"), "", 0);
  expect_groups(keyed_table<std::int64_t>(TypeId::int64, 0, 1, 5).build(), all_of_group_by("k"), "", 0);
  // More rows than a sample has.
  expect_groups(keyed_table<std::int32_t>(TypeId::int32, 17'000, 300, 7).build(),
                {{"k"}, {{AggregateFunction::sum, "word", "total"}}, false}, "", 0);
  // Distinct keys, and a key that is aggregated, too.
  expect_groups(ints, {{"small"}, {}, false}, "", 0);
  expect_groups(ints, {{"word"}, {{AggregateFunction::sum, "word", "total"}}, false}, "", 0);
}

TEST_F(DeviceTables, AJoinedTableIsGrouped) {
  auto const a = keyed_table<std::int32_t>(TypeId::int32, 300, 150, 1).build();
  auto const b = keyed_table<std::int32_t>(TypeId::int32, 200, 150, 2).build();
  auto const joined = join(upload(a), upload(b), on_keys());
  auto const on_host = download(joined);
  expect_same(download(take(engine().group_by(joined.view(), all_of_group_by("k")))),
              reference::reference_group_by(on_host.view(), all_of_group_by("k")));
}

TEST_F(DeviceTables, AResultIsATableToJoinAgain) {
  auto const a = keyed_table<std::int32_t>(TypeId::int32, 300, 150, 1).build();
  auto const b = keyed_table<std::int32_t>(TypeId::int32, 200, 150, 2).build();
  auto const c = keyed_table<std::int32_t>(TypeId::int32, 250, 150, 3).build();
  auto const first = join(upload(a), upload(b), on_keys());
  auto const expected_first = download(first);
  expect_same(download(join(first, upload(c), on_keys())),
              reference::reference_join_table(expected_first.view(), c.view(), on_keys()));
}

TEST_F(DeviceTables, RefusesWhatItCannotDo) {
  auto const ints = keyed_table<std::int32_t>(TypeId::int32, 20, 5, 1).build();
  auto const unlike = keyed_table<std::uint64_t>(TypeId::uint64, 20, 5, 1).build();
  auto const ints_there = upload(ints);
  auto const code_of = [&](Table const& other, JoinSpec const& spec, JoinOptions const& options = {}) {
    auto const other_there = upload(other);
    auto const joined = engine().join(ints_there.view(), other_there.view(), spec, options);
    return joined ? std::nullopt : std::optional(joined.error().code());
  };
  JoinSpec non_equi;
  non_equi.where = parse_condition("left.word < right.word").value();
  EXPECT_EQ(code_of(ints, non_equi, tuned("placement=device")), ErrorCode::usage);
  EXPECT_EQ(code_of(unlike, on_keys()), ErrorCode::invalid_input);
  auto unknown = on_keys();
  unknown.on[0].first = "kay";
  EXPECT_EQ(code_of(ints, unknown), ErrorCode::invalid_input);

  auto ordered = on_keys();
  ordered.ordered = true;
  EXPECT_EQ(code_of(ints, ordered, tuned("method=partitioned")), ErrorCode::usage);
  EXPECT_EQ(code_of(ints, on_keys(), tuned("placement=slices")), ErrorCode::usage);
  JoinOptions options;
  for (auto const path : {Path::cpu, Path::graphics}) {
    options.path = path;
    EXPECT_EQ(code_of(ints, on_keys(), options), ErrorCode::usage) << to_string(path);
  }
  options = {};
  std::atomic<bool> const cancelled{true};
  options.control.cancelled = &cancelled;
  EXPECT_EQ(code_of(ints, on_keys(), options), ErrorCode::cancelled);
  auto const mixed = engine().join(ints_there.view(), ints.view(), on_keys());
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().message(), "the tables are in different places: device 0, host");

  DeviceTableOptions nowhere;
  nowhere.device = "no such GPU";
  EXPECT_EQ(engine().upload(ints.view(), nowhere).error().code(), ErrorCode::no_device);
  auto const numbers = reference::make_column<std::int64_t>(type_of(TypeId::int64), std::vector<std::int64_t>{7});
  std::vector<std::optional<std::int32_t>> const codes{0};
  auto const coded = reference::make_table("name", {reference::make_dictionary(codes, numbers)});
  auto const refused = engine().upload(coded.view());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().describe().find("'name'"), std::string::npos);
}

/// The ways to join tables on a device are offers like any other, and the run takes the one that explain chooses.
TEST_F(DeviceTables, PlansListWhatThereIsToChooseFrom) {
  auto const a = upload(keyed_table<std::int32_t>(TypeId::int32, 300, 150, 1).build());
  auto const b = upload(keyed_table<std::int32_t>(TypeId::int32, 200, 150, 2).build());
  auto const explained = engine().explain_join(a.view(), b.view(), on_keys());
  ASSERT_TRUE(explained) << explained.error().describe();
  std::vector<std::string> ways;
  for (auto const& candidate : explained->candidates) {
    if (candidate.estimated_ns > 0)
      ways.push_back(candidate.choices);
    else
      EXPECT_NE(candidate.reason.find("live on a device"), std::string::npos) << candidate.reason;
  }
  EXPECT_EQ(ways.size(), 3U);
  EXPECT_EQ(ways.front(), explained->choices) << "the cheapest first";
  EXPECT_EQ(explained->tuning, ways.front());
  auto const joined = engine().join(a.view(), b.view(), on_keys());
  ASSERT_TRUE(joined) << joined.error().describe();
  EXPECT_EQ((*joined)->plan().tuning, explained->tuning);
  auto const grouped = engine().explain_group_by(a.view(), all_of_group_by("k"));
  ASSERT_TRUE(grouped) << grouped.error().describe();
  EXPECT_EQ(grouped->path, Path::compute);
  EXPECT_GT(grouped->estimated_ns, 0);
}

TEST_F(DeviceTables, AResultIsReadOrTakenOnce) {
  auto const a = upload(keyed_table<std::int32_t>(TypeId::int32, 300, 150, 1).build());
  auto options = tuned("chunk_rows=100");
  auto const expected = download(join(a, a, on_keys()));
  auto const read = engine().join(a.view(), a.view(), on_keys(), options);
  ASSERT_TRUE(read) << read.error().describe();
  auto const first = (*read)->next();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->num_rows, 100);
  EXPECT_EQ((*read)->take_device_table().error().code(), ErrorCode::usage);
  auto const rest = collect(**read);
  ASSERT_TRUE(rest) << rest.error().describe();
  EXPECT_EQ(rest->num_rows(), expected.num_rows() - 100);
  auto const taken = engine().join(a.view(), a.view(), on_keys());
  EXPECT_EQ(static_cast<std::int64_t>(take(taken).num_rows()), expected.num_rows());
  auto const after = (*taken)->next();
  EXPECT_TRUE(after && !*after);
  EXPECT_EQ((*taken)->take_device_table().error().code(), ErrorCode::usage);
  // A result of the host's tables is not there as a whole.
  auto const ints = keyed_table<std::int32_t>(TypeId::int32, 20, 5, 1).build();
  auto const on_host = engine().join(ints.view(), ints.view(), on_keys());
  ASSERT_TRUE(on_host) << on_host.error().describe();
  EXPECT_EQ((*on_host)->take_device_table().error().code(), ErrorCode::usage);
}

TEST_F(DeviceTables, ADeviceIsOpenedAheadWithOneQueue) {
  EngineOptions options;
  options.validation = testing::with_validation();
  options.calibration_folder = "";
  options.single_queue = true;
  auto created = Engine::create(options);
  ASSERT_TRUE(created) << created.error().describe();
  GroupByOptions on_device;
  on_device.path = Path::compute;
  for (int round = 0; round < 2; ++round) {
    auto const opened = created->open_device(on_device);
    EXPECT_TRUE(opened) << opened.error().describe();
  }
  EXPECT_TRUE(created->open_device({}));  // which device is not known yet
  RunOptions on_host;
  on_host.path = Path::cpu;
  EXPECT_TRUE(created->open_device(on_host));
  RunOptions elsewhere;
  elsewhere.path = Path::compute;
  elsewhere.device = "no such device";
  EXPECT_EQ(created->open_device(elsewhere).error().code(), ErrorCode::no_device);
  auto const table = keyed_table<std::int32_t>(TypeId::int32, 900, 300, 1).build();
  for (auto const placement : {Placement::device, Placement::slices}) {
    on_device.tuning.placement = placement;
    auto const grouped = created->group_by(table.view(), all_of_group_by("k"), on_device);
    ASSERT_TRUE(grouped) << grouped.error().describe();
    auto const groups = collect(**grouped);
    ASSERT_TRUE(groups) << groups.error().describe();
    expect_same(*groups, reference::reference_group_by(table.view(), all_of_group_by("k")));
  }
  EXPECT_EQ(created->validation_messages(), std::vector<std::string>{});
}

}  // namespace
}  // namespace garuda
