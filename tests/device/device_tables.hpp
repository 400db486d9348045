// Tables that go to a device, and what is done with them there: the fixture of tests of tables on a device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda::testing {

template <class T>
TestColumn<T> random_column(std::string name, TypeId id, std::size_t rows, std::uint64_t seed, bool nulls) {
  std::mt19937_64 random(seed);
  TestColumn<T> column{std::move(name), type_of(id), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    column.values.push_back(static_cast<T>(random()));
    if (nulls) column.valid.push_back(random() % 3 != 0);
  }
  return column;
}

template <class Key>
TestTable keyed_table(TypeId key_type, std::size_t rows, std::uint64_t distinct, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestColumn<Key> keys{"k", type_of(key_type), {}, {}};
  // Distinct keys far apart, also negative ones.
  for (std::size_t i = 0; i < rows; ++i)
    keys.values.push_back(static_cast<Key>((random() % distinct) * 0x9e3779b97f4a7c15));
  return TestTable()
      .add(random_column<std::int8_t>("tiny", TypeId::int8, rows, seed + 1, true))
      .add(std::move(keys))
      .add(random_column<std::int32_t>("word", TypeId::int32, rows, seed + 2, false))
      .add(random_column<std::uint16_t>("small", TypeId::uint16, rows, seed + 3, false))
      .add(random_column<std::int64_t>("wide", TypeId::int64, rows, seed + 4, true));
}

class DeviceTables : public EngineTest {
 protected:
  static DeviceTable upload(Table const& table) {
    auto uploaded = engine().upload(table.view());
    if (!uploaded) throw std::runtime_error(uploaded.error().describe());
    return std::move(*uploaded);
  }
  static Table download(DeviceTable const& table) {
    auto downloaded = table.download();
    if (!downloaded) throw std::runtime_error(downloaded.error().describe());
    return std::move(*downloaded);
  }

  /// Whether a plan runs where the tables live.
  static bool is_there(Plan const& plan) {
    return std::ranges::none_of(plan.notes, [](std::string const& note) {
      return note.find("brought down from the device") != std::string::npos;
    });
  }

  static void expect_same(Table const& actual_table, reference::TextTable const& expected) {
    auto const actual = reference::read_table(actual_table.view());
    EXPECT_EQ(actual.names, expected.names);
    EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
  }

  static JoinSpec on_keys() {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    return spec;
  }

  /// The table that a query gives, left on the device.
  static DeviceTable take(Result<std::unique_ptr<QueryResult>> const& result) {
    if (!result) throw std::runtime_error(result.error().describe());
    auto table = (*result)->take_device_table();
    if (!table) throw std::runtime_error(table.error().describe());
    return std::move(*table);
  }
  static DeviceTable join(DeviceTable const& left, DeviceTable const& right, JoinSpec const& spec,
                          JoinOptions const& options = {}) {
    return take(engine().join(left.view(), right.view(), spec, options));
  }
  static JoinOptions tuned(std::string_view tuning) {
    JoinOptions options;
    options.tuning = *parse_join_tuning(tuning);
    return options;
  }

  static void expect_join(Table const& left, Table const& right, JoinSpec const& spec,
                          JoinOptions const& options = {}) {
    auto const left_there = upload(left);
    auto const right_there = upload(right);
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    // As often as wanted: nothing of a join is left in its inputs. Left there, and read.
    for (bool const is_read : {false, true}) {
      auto const joined = engine().join(left_there.view(), right_there.view(), spec, options);
      ASSERT_TRUE(joined) << joined.error().describe();
      EXPECT_EQ((*joined)->plan().path, Path::compute);
      if (is_read) {
        auto const rows = collect(**joined);
        ASSERT_TRUE(rows) << rows.error().describe();
        expect_same(*rows, expected);
      } else {
        expect_same(download(take(joined)), expected);
      }
      EXPECT_EQ((*joined)->stats().rows_out, expected.rows.size());
      EXPECT_EQ((*joined)->stats().path, Path::compute);
    }
  }
};

}  // namespace garuda::testing
