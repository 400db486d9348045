// The driver through the public API: whole results of every path against the oracle, whatever the plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_test.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using reference::TextTable;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

/// `rows` keys drawn from `distinct` values `stride` apart from `lowest` on, and the row number as payload.
TestTable random_table(std::string const& key, std::size_t rows, std::uint64_t distinct, std::int64_t lowest,
                       std::int64_t stride, std::uint64_t seed, bool nulls) {
  std::mt19937_64 random(seed);
  TestColumn<std::int64_t> keys{key, type_of(TypeId::int64), {}, {}};
  TestColumn<std::int32_t> payload{"payload", type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    // Unsigned, because wide strides wrap around the whole range on purpose.
    auto const key_bits = static_cast<std::uint64_t>(lowest) + random() % distinct * static_cast<std::uint64_t>(stride);
    keys.values.push_back(static_cast<std::int64_t>(key_bits));
    if (nulls) keys.valid.push_back(random() % 7 != 0);
    payload.values.push_back(static_cast<std::int32_t>(i));
  }
  return TestTable().add(std::move(keys)).add(std::move(payload));
}

class HashJoin : public testing::JoinTest {
 protected:
  static JoinSpec on_keys(bool ordered) {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    spec.ordered = ordered;
    return spec;
  }

  /// Joins in full and compares with the oracle: the multiset of rows, or their sequence.
  static void expect_join(Table const& left, Table const& right, JoinSpec const& spec, JoinOptions const& options) {
    auto result = engine().join(left.view(), right.view(), spec, options);
    ASSERT_TRUE(result) << result.error().describe();
    auto joined = collect(**result);
    ASSERT_TRUE(joined) << joined.error().describe();
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const actual = reference::read_table(joined->view());
    EXPECT_EQ(actual.names, expected.names);
    if (spec.ordered)
      EXPECT_EQ(actual.rows, expected.rows);
    else
      EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
    EXPECT_EQ((*result)->stats().rows_out, expected.rows.size());

    auto const counted = engine().join_count(left.view(), right.view(), spec, options);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
  }
};

TEST_F(HashJoin, EqualsTheOracleWhateverThePlan) {
  auto const left = random_table("k", 700, 300, -50, 3, 1, true).build(97);
  auto const right = random_table("k", 900, 400, -60, 3, 2, true).build(250);
  std::uint64_t turn = 0;
  for (auto base : all_paths())
    for (auto const* tuning :
         {"", "method=global,slice_rows=300", "radix_bits=0", "radix_bits=3,lanes=1", "radix_bits=8,lanes=3",
          "slice_rows=100", "slice_rows=64,radix_bits=2,chunk_rows=10", "chunk_rows=1"})
      for (auto const ordered : {false, true}) {
        if (base.path != Path::cpu && *tuning != '\0' && !testing::takes_case(turn++)) continue;
        SCOPED_TRACE(std::string(to_string(base.path)) + " " + tuning + (ordered ? " ordered" : ""));
        auto const parsed = parse_join_tuning(tuning);
        ASSERT_TRUE(parsed);
        auto options = base;
        options.tuning = *parsed;
        expect_join(left, right, on_keys(ordered), options);
      }
}

TEST_F(HashJoin, WideKeysAndOneHeavyKey) {
  auto wide_left = random_table("k", 400, 300, INT64_MIN, INT64_MAX / 200, 3, false).build();
  auto wide_right = random_table("k", 300, 300, INT64_MIN, INT64_MAX / 200, 4, true).build();
  auto heavy_left = random_table("k", 150, 1, 7, 1, 5, false).build();
  auto heavy_right = random_table("k", 200, 2, 7, 1, 6, false).build();
  for (auto const& options : all_paths())
    for (auto const ordered : {false, true}) {
      SCOPED_TRACE(to_string(options.path));
      expect_join(wide_left, wide_right, on_keys(ordered), options);
      expect_join(heavy_left, heavy_right, on_keys(ordered), options);
    }
}

/// Words of negative keys are the largest: tables whose keys end alike, far apart or with both signs, beside others.
TEST_F(HashJoin, KeysFarApartThatEndAlike) {
  auto const table_of = [](std::vector<std::int64_t> const& keys) {
    return TestTable().add(TestColumn<std::int64_t>{"k", type_of(TypeId::int64), keys, {}}).build();
  };
  std::vector<std::vector<std::int64_t>> const sides{
      {-1, INT64_MAX}, {INT64_MIN}, {0},     {INT64_MIN, 0},
      {-64, 64, 0},    {-32, 32},   {5, 69}, {INT64_MIN, INT64_MAX, -1, 1}};
  for (auto const& options : all_paths())
    for (auto const& left : sides)
      for (auto const& right : sides) {
        SCOPED_TRACE(::testing::Message() << to_string(options.path) << ' ' << left[0] << ' ' << right[0]);
        expect_join(table_of(left), table_of(right), on_keys(true), options);
      }
}

/// Keys of a type of their own, drawn from as many as there are rows or each of these once, and payload of every width,
/// with and without nulls.
template <class Key>
TestTable wide_table(TypeId key_type, std::size_t rows, std::int64_t lowest, std::uint64_t seed, bool null_keys,
                     bool unique_keys = false) {
  std::mt19937_64 random(seed);
  TestColumn<Key> keys{"k", type_of(key_type), {}, {}};
  TestColumn<std::int8_t> a{"a", type_of(TypeId::int8), {}, {}};
  TestColumn<std::int16_t> b{"b", type_of(TypeId::int16), {}, {}};
  TestColumn<std::int32_t> c{"c", type_of(TypeId::int32), {}, {}};
  TestColumn<std::int64_t> d{"d", type_of(TypeId::int64), {}, {}};
  TestColumn<double> e{"e", type_of(TypeId::float64), {}, {}};
  TestColumn<std::int32_t> f{"f", type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    auto const key = unique_keys ? (i * 7'919 + seed) % rows : random() % rows;
    keys.values.push_back(static_cast<Key>(lowest + static_cast<std::int64_t>(key)));
    if (null_keys) keys.valid.push_back(random() % 5 != 0);
    a.values.push_back(static_cast<std::int8_t>(random()));
    b.values.push_back(static_cast<std::int16_t>(random()));
    c.values.push_back(static_cast<std::int32_t>(random()));
    d.values.push_back(static_cast<std::int64_t>(random()));
    e.values.push_back(static_cast<double>(random() % 1'000) / 8);
    f.values.push_back(static_cast<std::int32_t>(random()));
    f.valid.push_back(random() % 3 != 0);
  }
  return TestTable()
      .add(std::move(a))
      .add(std::move(keys))
      .add(std::move(b))
      .add(std::move(c))
      .add(std::move(d))
      .add(std::move(e))
      .add(std::move(f));
}

TEST_F(HashJoin, PayloadMayBeCarriedOrGathered) {
  for (bool const null_keys : {false, true})
    for (std::int64_t const batch_rows : {0, 61}) {
      auto const left = wide_table<std::int16_t>(TypeId::int16, 700, -300, 1, null_keys).build(batch_rows);
      auto const right = wide_table<std::int64_t>(TypeId::int64, 1'100, -500, 2, false).build(batch_rows);
      auto every_column = on_keys(false);
      auto some_columns = on_keys(false);
      some_columns.columns = {
          {Side::right, "k"}, {Side::left, "c"}, {Side::right, "d"}, {Side::left, "c"}, {Side::left, "k"}};
      for (auto base : all_paths())
        for (auto const* tuning : {"payload=auto", "payload=carry", "payload=gather"})
          for (auto const* partitions : {"radix_bits=0", "radix_bits=3", "radix_bits=2,build=left,chunk_rows=13",
                                         "radix_bits=13,lanes=2,build=right", "radix_bits=1,slice_rows=50"}) {
            auto const text = std::string(tuning) + "," + partitions;
            SCOPED_TRACE(std::string(to_string(base.path)) + " " + text + (null_keys ? " null keys" : "") +
                         " batches of " + std::to_string(batch_rows));
            auto options = base;
            options.tuning = parse_join_tuning(text).value();
            // Devices see neither batches nor payload, nor which rows had keys.
            bool const seen_by_devices =
                (null_keys || testing::full_tests()) && batch_rows == 0 && tuning == std::string_view("payload=auto");
            if (base.path != Path::cpu && !seen_by_devices) continue;
            // Thousands of partitions of a row or none cost the compute path a dozen passes each.
            if (base.path == Path::compute && options.tuning.radix_bits > 8) continue;
            expect_join(left, right, every_column, options);
            expect_join(left, right, some_columns, options);
            if (HasFailure()) return;
          }
    }
}

TEST_F(HashJoin, EveryRowMayHaveOneMatch) {
  JoinOptions options;
  options.path = Path::cpu;
  for (std::int64_t const batch_rows : {0, 61}) {
    auto const left = wide_table<std::int16_t>(TypeId::int16, 7'000, -300, 1, false, true).build(batch_rows);
    auto const right = wide_table<std::int64_t>(TypeId::int64, 7'000, -300, 2, false, true).build(batch_rows);
    for (auto const* text : {"radix_bits=0", "radix_bits=2,payload=carry", "radix_bits=2,payload=gather,build=left",
                             "radix_bits=0,build=right,chunk_rows=1000", "radix_bits=1,slice_rows=900"}) {
      SCOPED_TRACE(std::string(text) + " batches of " + std::to_string(batch_rows));
      options.tuning = parse_join_tuning(text).value();
      expect_join(left, right, on_keys(false), options);
    }
  }
}

TEST_F(HashJoin, CarriesWhatItSaysAndOnlyThen) {
  auto const left = wide_table<std::int32_t>(TypeId::int32, 700, 0, 1, false).build();
  auto const right = wide_table<std::int32_t>(TypeId::int32, 700, 0, 2, false).build();
  auto const carried = [&](char const* tuning) {
    JoinOptions options;
    options.path = Path::cpu;
    options.tuning = parse_join_tuning(tuning).value();
    auto result = engine().join(left.view(), right.view(), on_keys(false), options).value();
    EXPECT_TRUE(collect(*result));
    for (auto const& [name, value] : result->stats().counters)
      if (name == "columns_carried") return value;
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(carried("payload=carry,radix_bits=2"), 10U);  // all but keys and the columns with nulls
  EXPECT_EQ(carried("payload=gather,radix_bits=2"), 0U);
  EXPECT_EQ(carried("payload=carry,radix_bits=0"), 0U);
}

TEST_F(HashJoin, EmptySides) {
  auto const none = random_table("k", 0, 1, 0, 1, 1, false).build();
  auto const some = random_table("k", 10, 5, 0, 1, 1, false).build();
  for (auto const& options : all_paths())
    for (auto const ordered : {false, true}) {
      SCOPED_TRACE(to_string(options.path));
      expect_join(none, some, on_keys(ordered), options);
      expect_join(some, none, on_keys(ordered), options);
      expect_join(none, none, on_keys(ordered), options);
    }
}

TEST_F(HashJoin, CountingIgnoresHowPairsAndRowsAreMade) {
  // Equal keys clash, so that their storage matters: runs, unless a probe that instances layers were asked for.
  auto const left = random_table("k", 200, 1, 0, 1, 1, false).build();
  auto const right = random_table("k", 600, 1, 0, 1, 2, false).build();
  auto const counters = [](Engine::Counted const& result) {
    auto all = result.stats.counters;
    // How many submissions work is cut into follows from how long the ones before took.
    std::erase_if(all, [](auto const& counted) {
      return counted.first.starts_with("longest_") || counted.first == "submissions";
    });
    return all;
  };
  for (auto options : all_paths()) {
    options.tuning = {};
    auto const usual = engine().join_count(left.view(), right.view(), on_keys(false), options);
    ASSERT_TRUE(usual) << usual.error().describe();
    EXPECT_EQ(usual->rows, 120'000U);
    for (auto const* tuning :
         {"probe=output", "probe=instanced", "storage=runs,probe=instanced", "payload=carry", "chunk_rows=7"}) {
      SCOPED_TRACE(std::string(to_string(options.path)) + " " + tuning);
      options.tuning = parse_join_tuning(tuning).value();
      auto const counted = engine().join_count(left.view(), right.view(), on_keys(false), options);
      ASSERT_TRUE(counted) << counted.error().describe();
      EXPECT_EQ(counted->rows, usual->rows);
      if (options.tuning.storage == Storage::automatic) {
        EXPECT_EQ(counted->plan.tuning, usual->plan.tuning);
      }
      EXPECT_EQ(counters(*counted), counters(*usual));
    }
  }
}

TEST_F(HashJoin, ADeviceMemoryLimitIsKeptBySlices) {
  auto const left = random_table("k", 20'000, 1, 0, 1, 1, false).build();
  auto const right = random_table("k", 3, 1, 0, 1, 2, false).build();
  for (auto options : all_paths()) {
    options.device_memory_limit_bytes = std::uint64_t{4} << 20;
    auto const counted = engine().join_count(left.view(), right.view(), on_keys(false), options);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, 60'000U);
  }
}

/// 18 MB of pairs: each pair comes once, of whichever part of the slice.
TEST_F(HashJoin, SlicesWhosePairsDoNotFitTheDeviceAreHalved) {
  constexpr std::size_t kRows = 1'500;
  auto const left = random_table("k", kRows, 1, 0, 1, 1, false).build();
  auto const right = random_table("k", kRows, 1, 0, 1, 2, false).build();
  for (auto options : all_paths()) {
    if (options.path != Path::compute) continue;
    options.tuning = parse_join_tuning("placement=slices,lanes=1").value();
    options.device_memory_limit_bytes = std::uint64_t{16} << 20;
    auto result = engine().join(left.view(), right.view(), on_keys(false), options);
    ASSERT_TRUE(result) << result.error().describe();
    auto const joined = collect(**result);
    ASSERT_TRUE(joined) << joined.error().describe();
    ASSERT_EQ(joined->view().num_rows(), static_cast<std::int64_t>(kRows * kRows));
    std::vector<bool> found(kRows * kRows);
    for (std::size_t b = 0; b < joined->view().num_batches(); ++b) {
      auto const batch = joined->view().batch(b);
      auto const value = [&](std::size_t column, std::int64_t row) {
        auto const& array = batch.columns[column];
        return static_cast<std::size_t>(static_cast<std::int32_t const*>(array.values)[array.offset + row]);
      };
      for (std::int64_t row = 0; row < batch.num_rows; ++row) found[value(1, row) * kRows + value(2, row)] = true;
    }
    EXPECT_EQ(std::ranges::count(found, true), static_cast<std::ptrdiff_t>(found.size()));
    auto const counters = (*result)->stats().counters;
    EXPECT_TRUE(std::ranges::any_of(counters, [](auto const& counter) { return counter.first == "slices_split"; }));
  }
}

TEST_F(HashJoin, MemoryKeptBetweenJoinsCanBeGivenBack) {
  auto const left = random_table("k", 100, 50, 0, 1, 1, false).build();
  auto const right = random_table("k", 200, 50, 0, 1, 2, false).build();
  for (auto const& options : all_paths())
    for (int round = 0; round < 3; ++round) {
      expect_join(left, right, on_keys(true), options);
      engine().release_device_memory();
      engine().release_host_memory();
    }
}

TEST_F(HashJoin, OrderedResultsLargerThanTheMemoryLimitStream) {
  auto const left = random_table("k", 300, 1, 0, 1, 1, false).build();
  auto const right = random_table("k", 300, 1, 0, 1, 2, false).build();
  JoinOptions options;
  options.path = Path::cpu;
  options.memory_limit_bytes = 64 << 10;
  auto result = engine().join(left.view(), right.view(), on_keys(true), options);
  ASSERT_TRUE(result) << result.error().describe();
  auto joined = collect(**result);
  ASSERT_TRUE(joined);
  EXPECT_EQ(reference::read_table(joined->view()).rows,
            reference::reference_join_table(left.view(), right.view(), on_keys(true)).rows);
  auto const stats = (*result)->stats();
  for (auto const& [name, value] : stats.counters)
    if (name == "ordered_ranges") {
      EXPECT_GT(value, 1U);
    }
}

TEST_F(HashJoin, CancellationEndsTheJoin) {
  auto const left = random_table("k", 3000, 1, 0, 1, 1, false).build();
  auto const right = random_table("k", 3000, 1, 0, 1, 2, false).build();
  for (auto options : all_paths()) {
    std::atomic<bool> cancelled{false};
    options.control.cancelled = &cancelled;
    options.tuning.chunk_rows = 1000;
    auto result = engine().join(left.view(), right.view(), on_keys(false), options);
    ASSERT_TRUE(result) << result.error().describe();
    ASSERT_TRUE((*result)->next());
    cancelled = true;
    Result<std::optional<Batch>> next = std::optional<Batch>{};
    do next = (*result)->next();
    while (next && *next);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), ErrorCode::cancelled);
    EXPECT_FALSE((*result)->next()->has_value());
  }
}

TEST_F(HashJoin, AResultMayBeDroppedEarly) {
  auto const left = random_table("k", 3000, 1, 0, 1, 1, false).build();
  auto const right = random_table("k", 3000, 1, 0, 1, 2, false).build();
  for (auto options : all_paths()) {
    options.tuning.chunk_rows = 500;
    auto result = engine().join(left.view(), right.view(), on_keys(false), options);
    ASSERT_TRUE(result) << result.error().describe();
    ASSERT_TRUE((*result)->next());
  }
}

TEST_F(HashJoin, ReportsProgressAndStatistics) {
  auto const left = random_table("k", 500, 500, 0, 1, 1, false).build();
  auto const right = random_table("k", 500, 500, 0, 1, 2, false).build();
  for (auto options : all_paths()) {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    options.tuning.radix_bits = 2;
    if (options.path == Path::compute) options.tuning.placement = Placement::slices;
    options.control.on_progress = [&](Progress const& progress) {
      done = progress.done;
      total = progress.total;
    };
    auto const counted = engine().join_count(left.view(), right.view(), on_keys(false), options);
    ASSERT_TRUE(counted);
    EXPECT_EQ(done, total);
    EXPECT_EQ(total, 4U);
    EXPECT_EQ(counted->stats.path, options.path);
    EXPECT_FALSE(counted->stats.phases.empty());
    EXPECT_NE(to_json(counted->plan).find("\"radix_bits\":2"), std::string::npos);
  }
}

TEST_F(HashJoin, RefusesWhatItCannotJoin) {
  auto const left = random_table("k", 5, 5, 0, 1, 1, false).build();
  auto const other = TestTable().add(TestColumn<std::int32_t>{"k", type_of(TypeId::date32), {1, 2}, {}}).build();
  auto const refused = engine().join(left.view(), other.view(), on_keys(false));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_input);

  auto spec = on_keys(false);
  spec.on[0].second = "kay";
  auto const unknown = engine().join(left.view(), left.view(), spec);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::invalid_input);

  JoinOptions device;
  device.device = "no such GPU";
  auto const absent = engine().join(left.view(), left.view(), on_keys(false), device);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), ErrorCode::no_device);
}

}  // namespace
}  // namespace garuda
