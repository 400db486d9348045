// Indexes that tables on a device keep: joins that look rows up in them give what they gave without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/device/device_tables.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda {
namespace {

using testing::keyed_table;
using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

class DeviceIndexes : public testing::DeviceTables {
 protected:
  static DeviceTable upload_indexed(Table const& table) {
    auto there = upload(table);
    auto const bytes = there.device_bytes();
    auto const built = there.build_index("k");
    EXPECT_TRUE(built) << built.error().describe();
    auto const key = std::ranges::find(table.schema(), "k", &Field::name) - table.schema().begin();
    bool const has_keys = std::ranges::any_of(reference::read_table(table.view()).rows, [&](auto const& row) {
      return row[static_cast<std::size_t>(key)].has_value();
    });
    EXPECT_EQ(there.device_bytes() > bytes, has_keys);
    return there;
  }

  static bool sorts(RunStats const& stats) {
    return std::ranges::any_of(stats.phases, [](auto const& phase) { return phase.name == "sort histogram"; });
  }

  /// Joins several tables with one whose index is kept on the left, on the right and on both sides.
  static void expect_joins(Table const& indexed, std::vector<Table> const& others) {
    auto const with_index = upload_indexed(indexed);
    for (auto const& other : others) {
      auto const plain = upload(other);
      auto const other_with_index = upload_indexed(other);
      for (bool const ordered : {false, true}) {
        auto spec = on_keys();
        spec.ordered = ordered;
        auto const left = reference::reference_join_table(indexed.view(), other.view(), spec);
        auto const right = reference::reference_join_table(other.view(), indexed.view(), spec);
        expect_joined(with_index, plain, "method=global", spec, left);
        expect_joined(plain, with_index, "method=global", spec, right);
        expect_joined(other_with_index, with_index, "method=global", spec, right);
        if (ordered) continue;
        expect_joined(with_index, plain, "method=global,build=right", spec, left);
        expect_joined(plain, with_index, "method=partitioned", spec, right);
      }
    }
  }

  static void expect_joined(DeviceTable const& left, DeviceTable const& right, char const* tuning, JoinSpec const& spec,
                            reference::TextTable const& expected) {
    SCOPED_TRACE(tuning);
    auto const joined = engine().join(left.view(), right.view(), spec, tuned(tuning));
    ASSERT_TRUE(joined) << joined.error().describe();
    auto const rows = collect(**joined);
    ASSERT_TRUE(rows) << rows.error().describe();
    if (spec.ordered)
      EXPECT_EQ(reference::read_table(rows->view()).rows, expected.rows);
    else
      expect_same(*rows, expected);
  }
};

template <class Key>
Table with_null_keys(TypeId type, std::size_t rows, std::uint64_t distinct, std::uint64_t share, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestColumn<Key> keys{"k", type_of(type), {}, {}};
  TestColumn<std::int32_t> payload{"p", type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    keys.values.push_back(static_cast<Key>(random() % distinct * 7) - 11);
    keys.valid.push_back(random() % 8 >= share);
    payload.values.push_back(static_cast<std::int32_t>(i));
  }
  return TestTable().add(std::move(keys)).add(std::move(payload)).build();
}

TEST_F(DeviceIndexes, JoinsGiveTheSameRows) {
  std::vector<Table> others;
  others.push_back(keyed_table<std::int32_t>(TypeId::int32, 900, 400, 2).build(100));
  others.push_back(keyed_table<std::int32_t>(TypeId::int32, 90, 400, 3).build());
  others.push_back(keyed_table<std::int32_t>(TypeId::int32, 0, 1, 4).build());
  expect_joins(keyed_table<std::int32_t>(TypeId::int32, 700, 300, 1).build(), others);
  std::vector<Table> wide;
  wide.push_back(keyed_table<std::int64_t>(TypeId::int64, 500, 90, 5).build());
  expect_joins(keyed_table<std::int64_t>(TypeId::int64, 333, 90, 6).build(), wide);
}

TEST_F(DeviceIndexes, RowsWithoutAKeyAreLeftOut) {
  std::vector<Table> others;
  others.push_back(with_null_keys<std::int64_t>(TypeId::int64, 300, 80, 2, 1));
  others.push_back(with_null_keys<std::int64_t>(TypeId::int64, 100, 80, 8, 2));
  others.push_back(with_null_keys<std::int64_t>(TypeId::int64, 257, 1, 0, 3));
  for (auto const share : {1U, 8U})
    expect_joins(with_null_keys<std::int64_t>(TypeId::int64, 400, 80, share, 4), others);
}

/// A look-up in an index of other words than the keys are compared in cannot be: the join sorts as it did.
TEST_F(DeviceIndexes, KeysOfAnotherWidthAreSorted) {
  std::vector<Table> others;
  others.push_back(with_null_keys<std::int64_t>(TypeId::int64, 200, 60, 1, 1));
  expect_joins(with_null_keys<std::int16_t>(TypeId::int16, 150, 60, 1, 2), others);
}

TEST_F(DeviceIndexes, NothingIsSortedAgain) {
  auto const build = keyed_table<std::int32_t>(TypeId::int32, 700, 300, 1).build();
  auto const probe = keyed_table<std::int32_t>(TypeId::int32, 900, 400, 2).build();
  auto const probe_there = upload(probe);
  auto const plain = upload(build);
  auto const indexed = upload_indexed(build);
  auto const joined = [&](DeviceTable const& left) {
    auto result = engine().join(left.view(), probe_there.view(), on_keys(), tuned("method=global")).value();
    EXPECT_TRUE(collect(*result));
    return result;
  };
  auto const without = joined(plain);
  auto const with = joined(indexed);
  EXPECT_TRUE(sorts(without->stats()));
  EXPECT_FALSE(sorts(with->stats()));
  // The plan says so, and prices what is saved.
  EXPECT_THAT(with->plan().details, ::testing::Contains(::testing::Pair("index", "kept with the left table")));
  EXPECT_THAT(without->plan().details, ::testing::Not(::testing::Contains(::testing::Pair("index", ::testing::_))));
  EXPECT_LT(with->plan().estimated_ns, without->plan().estimated_ns);
}

TEST_F(DeviceIndexes, RefusesWhatItCannotIndex) {
  TestTable table;
  table.add(TestColumn<double>{"x", type_of(TypeId::float64), {1, 2}, {}})
      .add(TestColumn<std::int32_t>{"k", type_of(TypeId::int32), {1, 2}, {}});
  auto there = upload(table.build());
  auto const unknown = there.build_index("y");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(unknown.error().describe(), ::testing::HasSubstr("no column 'y'"));
  auto const unsorted = there.build_index("x");
  ASSERT_FALSE(unsorted);
  EXPECT_EQ(unsorted.error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(unsorted.error().describe(), ::testing::HasSubstr("'x' is float64"));
  std::atomic<bool> cancelled = true;
  auto const stopped = there.build_index("k", Control{&cancelled, nullptr, nullptr});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::cancelled);
  // What failed left nothing; a second index of a column is the first.
  ASSERT_TRUE(there.build_index("k"));
  auto const bytes = there.device_bytes();
  ASSERT_TRUE(there.build_index("k"));
  EXPECT_EQ(there.device_bytes(), bytes);
}

}  // namespace
}  // namespace garuda
