// Every kind of join through the public API, on every path, against the oracle: whole results, their sequence where it
// is fixed, and their number, counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/join/join_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using reference::Column;
using reference::typed;
using testing::kJoinKinds;

using Values = std::vector<std::optional<std::int64_t>>;

template <class T>
Column column_of(DataType type, Values const& values, std::int64_t offset) {
  std::vector<std::optional<T>> converted;
  for (auto const& value : values) converted.push_back(value ? std::optional<T>(static_cast<T>(*value)) : std::nullopt);
  return reference::make_column<T>(std::move(type), converted, offset);
}

/// Values as a type of any width has them: keys of all widths that stand for the same numbers.
Column key_column(TypeId id, Values const& values, std::int64_t offset) {
  auto const type = typed(id);
  switch (byte_width(type)) {
    case 1:
      return column_of<std::int8_t>(type, values, offset);
    case 2:
      return column_of<std::int16_t>(type, values, offset);
    case 4:
      return column_of<std::int32_t>(type, values, offset);
    case 8:
      return column_of<std::int64_t>(type, values, offset);
    default: {
      std::vector<std::optional<reference::Decimal128>> wide;
      for (auto const& value : values)
        wide.push_back(
            value ? std::optional(reference::Decimal128{static_cast<std::uint64_t>(*value), *value < 0 ? -1 : 0})
                  : std::nullopt);
      return reference::make_column<reference::Decimal128>(type, wide, offset);
    }
  }
}

/// A table in batches: a key, a plain column (its rows' numbers), one with nulls, strings, booleans and a dictionary,
/// which each batch has of its own.
struct TableOf {
  TypeId key = TypeId::int64;
  Values keys;
  std::size_t batch_rows = 0;  ///< 0: one batch
  bool nullable_key = true;

  Table build(std::mt19937_64& random) const {
    Schema const schema{{"k", typed(key), nullable_key},     {"p", typed(TypeId::int32), false},
                        {"h", typed(TypeId::float64), true}, {"t", typed(TypeId::utf8), true},
                        {"f", typed(TypeId::boolean), true}, {"d", dictionary_type(), true}};
    std::vector<Batch> batches;
    auto const step = batch_rows == 0 ? std::max<std::size_t>(keys.size(), 1) : batch_rows;
    for (std::size_t first = 0; first < keys.size(); first += step) {
      auto const rows = std::min(step, keys.size() - first);
      batches.push_back(batch(first, rows, random));
    }
    return Table(schema, std::move(batches));
  }

 private:
  static DataType dictionary_type() {
    DataType type;
    type.id = TypeId::dictionary;
    type.value = std::make_shared<DataType const>(typed(TypeId::utf8));
    return type;
  }

  Batch batch(std::size_t first, std::size_t rows, std::mt19937_64& random) const {
    auto const begin = keys.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<std::optional<std::int32_t>> numbers;
    std::vector<std::optional<double>> holes;
    std::vector<std::optional<std::string>> texts;
    std::vector<std::optional<bool>> flags;
    std::vector<std::optional<std::int32_t>> indices;
    auto const some = [&](auto value) { return random() % 4 == 0 ? std::nullopt : std::optional(value); };
    for (std::size_t i = 0; i < rows; ++i) {
      numbers.emplace_back(static_cast<std::int32_t>(first + i));
      holes.push_back(some(static_cast<double>(random() % 1'000) / 8));
      texts.push_back(some(std::string(random() % 5, 'x')));
      flags.push_back(some(random() % 2 == 0));
      indices.push_back(some(static_cast<std::int32_t>(random() % 3)));
    }
    auto const words = reference::make_strings({"a", first % 2 == 0 ? "b" : "c", "long" + std::to_string(first)});
    auto const offset = static_cast<std::int64_t>(random() % 3);
    return reference::make_batch({key_column(key, {begin, begin + static_cast<std::ptrdiff_t>(rows)}, offset),
                                  reference::make_column<std::int32_t>(typed(TypeId::int32), numbers, offset),
                                  reference::make_column<double>(typed(TypeId::float64), holes, offset),
                                  reference::make_strings(texts), reference::make_booleans(flags),
                                  reference::make_dictionary(indices, words)});
  }
};

/// `rows` keys of `distinct` numbers from `lowest` on, one in `null_share` null (0: none).
Values some_keys(std::size_t rows, std::uint64_t distinct, std::int64_t lowest, std::uint64_t null_share,
                 std::mt19937_64& random) {
  Values keys;
  for (std::size_t i = 0; i < rows; ++i) {
    auto const key = lowest + static_cast<std::int64_t>(random() % distinct);
    keys.push_back(null_share != 0 && random() % null_share == 0 ? std::nullopt : std::optional(key));
  }
  return keys;
}

using JoinKinds = testing::JoinTest;

TEST_F(JoinKinds, SlicesOnBothSidesAndHeavyKeys) {
  std::mt19937_64 random(1);
  // Keys of one side alone, on both; the heavy ones fill several slices.
  auto left_keys = some_keys(500, 90, -20, 9, random);
  auto right_keys = some_keys(400, 90, 10, 7, random);
  for (std::size_t i = 0; i < 150; ++i) left_keys[i * 3] = 33;
  for (std::size_t i = 0; i < 90; ++i) right_keys[i * 4] = i % 2 == 0 ? 33 : 200;
  auto const left = TableOf{TypeId::int64, left_keys, 97}.build(random);
  auto const right = TableOf{TypeId::int64, right_keys, 0}.build(random);
  std::uint64_t turn = 0;
  for (auto const& base : all_paths())
    for (auto const* tuning : {"", "radix_bits=0,slice_rows=64", "radix_bits=2,slice_rows=64,build=left",
                               "radix_bits=3,build=right,chunk_rows=17,lanes=3", "method=global,slice_rows=100,lanes=1",
                               "payload=carry,radix_bits=4"})
      for (auto const kind : kJoinKinds)
        for (auto const nulls_equal : {false, true}) {
          auto const options = tuned(base, tuning);
          // A software device takes its time over slices of a few rows.
          if (nulls_equal && base.path != Path::cpu && *tuning != '\0') continue;
          if (base.path == Path::cpu ? !testing::takes_host_case(turn++) : !testing::takes_case(turn++)) continue;
          expect_join(left, right, spec_of(kind, nulls_equal, *tuning == '\0'), options);
          if (base.path == Path::cpu || *tuning == '\0') expect_join(right, left, spec_of(kind, nulls_equal), options);
          if (HasFailure()) return;
        }
}

TEST_F(JoinKinds, SidesWithoutRowsOrKeys) {
  std::mt19937_64 random(2);
  auto const none = TableOf{}.build(random);
  auto const some = TableOf{TypeId::int64, some_keys(90, 20, 0, 4, random), 40}.build(random);
  auto const nulls = TableOf{TypeId::int64, Values(70), 30}.build(random);
  auto const others = TableOf{TypeId::int64, some_keys(80, 20, 500, 0, random), 0}.build(random);
  std::uint64_t turn = 0;
  for (auto const& options : all_paths())
    for (auto const kind : kJoinKinds)
      for (auto const nulls_equal : {false, true})
        for (auto const ordered : {false, true})
          for (auto const* left : {&none, &some, &nulls})
            for (auto const* right : {&none, &some, &nulls, &others}) {
              if (options.path != Path::cpu && !testing::takes_case(turn++)) continue;
              expect_join(*left, *right, spec_of(kind, nulls_equal, ordered), options);
              if (HasFailure()) return;
            }
}

/// Keys that are words as they lie in the column: partitions move them without row ids.
TEST_F(JoinKinds, KeysThatAreWordsInTheirColumn) {
  if (testing::host_runs_elsewhere()) GTEST_SKIP() << "the CPU path alone: lavapipe's entry has it";
  std::uint64_t turn = 0;
  std::mt19937_64 random(10);
  JoinOptions options;
  options.path = Path::cpu;
  for (auto const& [rows, distinct] : {std::pair{3'000U, 2'000U}, std::pair{2'000U, 400U}, std::pair{70U, 90U}}) {
    auto const left = TableOf{TypeId::int32, some_keys(rows, distinct, 0, 0, random), 0}.build(random);
    auto const right = TableOf{TypeId::int32, some_keys(rows - 13, distinct, 7, 0, random), 0}.build(random);
    for (auto const* tuning :
         {"radix_bits=1", "radix_bits=4", "radix_bits=9,build=left", "radix_bits=3,slice_rows=100"})
      for (auto const kind : kJoinKinds)
        if (testing::takes_host_case(turn++)) expect_join(left, right, spec_of(kind), tuned(options, tuning));
  }
}

/// Bits over the range of the right keys, in slices on both sides, by several lanes.
TEST_F(JoinKinds, BitmapsOfRightKeysMarkLeftRows) {
  if (testing::host_runs_elsewhere()) GTEST_SKIP() << "the CPU path alone: lavapipe's entry has it";
  std::uint64_t turn = 0;
  std::mt19937_64 random(11);
  JoinOptions options;
  options.path = Path::cpu;
  auto const none = TableOf{}.build(random);
  for (auto const type : {TypeId::int8, TypeId::int32, TypeId::int64, TypeId::decimal128})
    for (auto const& [share, stride] : {std::pair{0U, 1}, {5U, 1}, {0U, 2}, {5U, 2}}) {
      auto const left = TableOf{type, some_keys(3'000, 110, -60, share, random), 900}.build(random);
      // Every value of their range, or every other one.
      auto right_keys = some_keys(500, 60, -10, share, random);
      for (auto& key : right_keys)
        if (key) *key *= stride;
      auto const right = TableOf{type, right_keys, 90}.build(random);
      for (auto const kind : {JoinKind::semi, JoinKind::anti, JoinKind::mark})
        for (auto const nulls_equal : {false, true})
          for (auto const* tuning : {"method=bitmap", "method=bitmap,slice_rows=70,lanes=3,chunk_rows=100"}) {
            if (!testing::takes_host_case(turn++)) continue;
            expect_join(left, right, spec_of(kind, nulls_equal), tuned(options, tuning));
            expect_join(right, left, spec_of(kind, nulls_equal), tuned(options, tuning));
          }
    }
  auto const some = TableOf{TypeId::int64, some_keys(90, 20, 0, 4, random), 40}.build(random);
  auto const far = TableOf{TypeId::int64, {0, 1'000'000'000}, 0}.build(random);
  auto const forced = tuned(options, "method=bitmap");
  expect_join(some, none, spec_of(JoinKind::anti), forced);
  expect_join(none, some, spec_of(JoinKind::mark), forced);
  for (auto const& [spec, right] : {std::pair{spec_of(JoinKind::inner), &some}, {spec_of(JoinKind::semi), &far}}) {
    auto const refused = engine().join(some.view(), right->view(), spec, forced);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  }
}

/// Rows that have one match at most come where they are, those without a match too, and their columns are the table's.
TEST_F(JoinKinds, RowsOfOneMatchAtMostShareTheirColumns) {
  if (testing::host_runs_elsewhere()) GTEST_SKIP() << "the CPU path alone: lavapipe's entry has it";
  std::mt19937_64 random(12);
  JoinOptions options;
  options.path = Path::cpu;
  Values unique;
  for (std::int64_t key = 0; key < 300; ++key) unique.emplace_back(key * 3);
  std::shuffle(unique.begin(), unique.end(), random);
  auto some_null = unique;
  some_null[17] = std::nullopt;
  auto twice = unique;
  twice[5] = twice[250];
  std::vector<ColumnRef> columns;
  for (auto const* name : {"p", "k", "h", "t", "f"}) columns.push_back({Side::left, name});
  for (auto const* name : {"h", "t", "p", "f"}) columns.push_back({Side::right, name});
  std::uint64_t turn = 0;
  Values all_match;
  for (std::size_t i = 0; i < 1'000; ++i) all_match.push_back(unique[random() % unique.size()]);
  for (auto const& left_keys :
       {all_match, some_keys(1'000, 1'200, 0, 0, random), some_keys(1'000, 1'200, 0, 9, random)})
    for (auto const& right_keys : {unique, some_null, twice})
      for (auto const batch_rows : {0U, 230U}) {
        auto const left = TableOf{TypeId::int32, left_keys, batch_rows}.build(random);
        auto const right = TableOf{TypeId::int32, right_keys, batch_rows / 2}.build(random);
        for (auto const* tuning :
             {"", "chunk_rows=17", "build=left", "build=right,lanes=1", "radix_bits=2", "slice_rows=50"})
          for (auto const kind : {JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full}) {
            if (!testing::takes_host_case(turn++)) continue;
            auto spec = spec_of(kind);
            expect_join(left, right, spec, tuned(options, tuning));
            spec.columns = columns;
            expect_join(left, right, spec, tuned(options, tuning));
            if (HasFailure()) return;
          }
      }
}

TEST_F(JoinKinds, SharedColumnsKeepTheirTableAlive) {
  std::mt19937_64 random(13);
  JoinOptions options;
  options.path = Path::cpu;
  auto const right = TableOf{TypeId::int32, {4, 1, 3}, 0}.build(random);
  auto spec = spec_of(JoinKind::left);
  spec.columns = {{Side::left, "t"}, {Side::left, "p"}, {Side::right, "p"}};
  std::optional<Table> left(TableOf{TypeId::int32, some_keys(500, 6, 0, 0, random), 200}.build(random));
  auto const expected = reference::reference_join_table(left->view(), right.view(), spec);
  auto result = engine().join(left->view(), right.view(), spec, options);
  ASSERT_TRUE(result) << result.error().describe();
  auto const joined = collect(**result);
  ASSERT_TRUE(joined) << joined.error().describe();
  ASSERT_EQ(joined->batches().size(), 3U);
  for (std::size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(joined->batches()[b].columns[0].values, left->batches()[b].columns[3].values);
    EXPECT_EQ(joined->batches()[b].columns[1].values, left->batches()[b].columns[1].values);
  }
  result->reset();
  left.reset();
  EXPECT_EQ(reference::read_table(joined->view()).rows, expected.rows);
}

TEST_F(JoinKinds, KeysOfTwoTypesShareTheCommonOne) {
  std::mt19937_64 random(3);
  std::vector<std::pair<TypeId, TypeId>> const types{
      {TypeId::int8, TypeId::int64},           {TypeId::int64, TypeId::int16},
      {TypeId::uint8, TypeId::int16},          {TypeId::uint32, TypeId::uint8},
      {TypeId::decimal64, TypeId::decimal128}, {TypeId::decimal128, TypeId::decimal32}};
  JoinOptions options;
  options.path = Path::cpu;
  for (auto const& [left_type, right_type] : types)
    for (auto const kind : kJoinKinds)
      for (auto const nulls_equal : {false, true})
        for (auto const ordered : {false, true}) {
          bool const has_sign = left_type != TypeId::uint8 && left_type != TypeId::uint32;
          auto const lowest = has_sign ? -30 : 3;
          auto const left = TableOf{left_type, some_keys(150, 60, lowest, 8, random), 40}.build(random);
          auto const right = TableOf{right_type, some_keys(130, 60, lowest + 20, 5, random), 0}.build(random);
          expect_join(left, right, spec_of(kind, nulls_equal, ordered), options);
          if (HasFailure()) return;
        }
}

/// Schemas, sizes, tunings and kinds drawn at random; a case is a function of its seed.
TEST_F(JoinKinds, RandomSchemasEqualTheOracle) {
  TypeId const types[] = {TypeId::int8,  TypeId::int16,  TypeId::int32,     TypeId::int64,
                          TypeId::uint8, TypeId::date32, TypeId::timestamp, TypeId::decimal128};
  char const* const tunings[] = {"",
                                 "build=left",
                                 "build=right",
                                 "radix_bits=0",
                                 "radix_bits=5",
                                 "lanes=1",
                                 "chunk_rows=7",
                                 "method=global",
                                 "payload=gather",
                                 "payload=carry",
                                 "lanes=3,radix_bits=2",
                                 "slice_rows=50"};
  for (auto const& base : all_paths()) {
    auto const cases = testing::random_cases(base.path, 500, 60);
    for (std::uint64_t seed = 0; seed < cases; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(7'000 + seed);
      auto const most = base.path == Path::cpu ? 300U : 120U;
      auto const type = types[random() % std::size(types)];
      auto const table = [&] {
        auto const rows = random() % 8 == 0 ? 0 : random() % most;
        auto const keys = some_keys(rows, 1 + random() % 100, static_cast<std::int64_t>(random() % 20),
                                    random() % 3 == 0 ? 0 : 1 + random() % 9, random);
        return TableOf{type, keys, random() % 2 == 0 ? 0 : 1 + random() % 90}.build(random);
      };
      auto const left = table();
      auto const right = table();
      auto spec = spec_of(kJoinKinds[random() % std::size(kJoinKinds)], random() % 3 == 0, random() % 3 == 0);
      if (random() % 3 == 0) spec.columns = testing::some_columns(spec.kind);
      expect_join(left, right, spec, tuned(base, tunings[random() % std::size(tunings)]));
      if (HasFailure()) return;
    }
  }
}

TEST_F(JoinKinds, SlicesThatDoNotFitTheDeviceAreHalved) {
  std::mt19937_64 random(4);
  auto const left = TableOf{TypeId::int32, some_keys(20'000, 40, 0, 0, random), 0}.build(random);
  auto const right = TableOf{TypeId::int32, {0, 1, 2, 77}, 0}.build(random);
  for (auto options : all_paths()) {
    options.device_memory_limit_bytes = std::uint64_t{4} << 20;
    for (auto const kind : {JoinKind::full, JoinKind::semi, JoinKind::mark})
      expect_join(left, right, spec_of(kind), options);
  }
}

TEST_F(JoinKinds, OrderedRangesUnderAMemoryLimit) {
  std::mt19937_64 random(5);
  auto const left = TableOf{TypeId::int32, some_keys(6'000, 5'000, 0, 6, random), 0}.build(random);
  auto const right = TableOf{TypeId::int32, some_keys(4'000, 5'000, 2'000, 6, random), 700}.build(random);
  JoinOptions options;
  options.path = Path::cpu;
  options.memory_limit_bytes = 256 << 10;
  for (auto const kind : kJoinKinds) expect_join(left, right, spec_of(kind, false, true), options);
}

TEST_F(JoinKinds, CancellingEndsRowsThatComeAlone) {
  std::mt19937_64 random(6);
  auto const left = TableOf{TypeId::int32, some_keys(5'000, 5'000, 0, 0, random), 0}.build(random);
  auto const right = TableOf{TypeId::int32, {-1}, 0}.build(random);
  for (auto options : all_paths())
    for (auto const kind : {JoinKind::left, JoinKind::anti, JoinKind::mark}) {
      std::atomic<bool> cancelled{false};
      options.control.cancelled = &cancelled;
      options.tuning.chunk_rows = 1'000;
      auto const result = engine().join(left.view(), right.view(), spec_of(kind), options);
      ASSERT_TRUE(result) << result.error().describe();
      ASSERT_TRUE((*result)->next());
      cancelled = true;
      auto const next = (*result)->next();
      ASSERT_FALSE(next);
      EXPECT_EQ(next.error().code(), ErrorCode::cancelled);
      EXPECT_FALSE((*result)->next()->has_value());
    }
}

/// Joins without pairs take no longer where every row matches every other: 2.5 × 10^11 pairs.
TEST_F(JoinKinds, RowsThatMatchAreFoundWithoutPairs) {
  std::mt19937_64 random(7);
  auto const table = TableOf{TypeId::int32, Values(500'000, 3), 0}.build(random);
  JoinOptions options;
  options.path = Path::cpu;
  for (auto const kind : {JoinKind::semi, JoinKind::anti, JoinKind::mark}) {
    auto const result = engine().join(table.view(), table.view(), spec_of(kind), options);
    ASSERT_TRUE(result) << result.error().describe();
    auto const joined = collect(**result);
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_EQ(joined->num_rows(), kind == JoinKind::anti ? 0 : 500'000);
  }
  auto const counted = engine().join_count(table.view(), table.view(), spec_of(JoinKind::full), options);
  ASSERT_TRUE(counted) << counted.error().describe();
  EXPECT_EQ(counted->rows, std::uint64_t{500'000} * 500'000);
}

TEST_F(JoinKinds, PlansSayTheKindAndExpectItsRows) {
  std::mt19937_64 random(8);
  auto const left = TableOf{TypeId::int32, some_keys(1'000, 1'000, 0, 0, random), 0}.build(random);
  auto const right = TableOf{TypeId::int32, some_keys(1'000, 1'000, 5'000, 0, random), 0}.build(random);
  for (auto const& options : all_paths())
    for (auto const kind : kJoinKinds) {
      auto const plan = engine().explain_join(left.view(), right.view(), spec_of(kind, true), options);
      ASSERT_TRUE(plan) << plan.error().describe();
      EXPECT_EQ(plan->details.front(), std::pair(std::string("kind"), std::string(to_string(kind)) + ", nulls equal"));
      double estimated = -1;
      for (auto const& [name, value] : plan->details)
        if (name == "estimate") estimated = std::stod(value.substr(value.find(", ") + 2));
      // A sample without a match stands for few of them.
      auto const alone = kind == JoinKind::inner || kind == JoinKind::semi ? 0 : kind == JoinKind::full ? 2'000 : 1'000;
      EXPECT_NEAR(estimated, alone, 30) << to_string(*plan);
    }
}

TEST_F(JoinKinds, RefusesWhatAKindDoesNotHave) {
  std::mt19937_64 random(9);
  auto const table = TableOf{TypeId::int32, {1, 2}, 0}.build(random);
  auto const code_of = [&](JoinSpec const& spec, JoinOptions const& options = {}) {
    auto const result = engine().join(table.view(), table.view(), spec, options);
    return result ? std::optional<ErrorCode>{} : result.error().code();
  };
  for (auto const kind : kJoinKinds) {
    auto spec = spec_of(kind);
    spec.columns = {{Side::left, "p"}, {Side::right, "p"}};
    EXPECT_EQ(code_of(spec), testing::has_left_columns_only(kind) ? std::optional(ErrorCode::usage) : std::nullopt);
  }
  // Text has no width that a device keeps.
  for (auto whole : all_paths()) {
    if (whole.path != Path::compute) continue;
    whole.tuning.placement = Placement::device;
    EXPECT_EQ(code_of(spec_of(JoinKind::semi), whole), ErrorCode::usage);
    EXPECT_EQ(code_of(spec_of(JoinKind::inner, true), whole), ErrorCode::usage);
  }
  EXPECT_EQ(parse_join_kind("outer").error().code(), ErrorCode::usage);
  for (auto const kind : kJoinKinds) EXPECT_EQ(parse_join_kind(to_string(kind)), kind);
}

}  // namespace
}  // namespace garuda
