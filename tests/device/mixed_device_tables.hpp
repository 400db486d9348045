// Tables of all types that live on a device, and joins of them that are compared with the oracle's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/device/device_tables.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/mixed_tables.hpp"

namespace garuda::testing {

inline constexpr std::array kKinds{JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full,
                                   JoinKind::semi,  JoinKind::anti, JoinKind::mark};

/// Columns of a mixed table that can live on a device.
inline std::vector<std::string> columns_there() {
  auto names = mixed_columns();
  std::erase(names, "coded");
  names.emplace_back("k");
  return names;
}

/// columns_there() and the numbers of rows.
inline std::vector<std::string> columns_there_and_n() {
  auto names = columns_there();
  names.emplace_back("n");
  return names;
}

/// The columns `names` of a mixed table, each once.
inline Table pick(Table const& table, std::vector<std::string> names) {
  std::ranges::sort(names);
  auto const twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  Schema schema;
  std::vector<Batch> batches;
  for (auto const& batch : table.batches()) {
    Batch& picked = batches.emplace_back();
    picked.num_rows = batch.num_rows;
    picked.owner = batch.owner;
  }
  for (std::size_t c = 0; c < table.schema().size(); ++c) {
    if (std::ranges::find(names, table.schema()[c].name) == names.end()) continue;
    schema.push_back(table.schema()[c]);
    for (std::size_t b = 0; b < batches.size(); ++b) batches[b].columns.push_back(table.batches()[b].columns[c]);
  }
  return Table(std::move(schema), std::move(batches));
}

/// A mixed table of few rows, whose share of nulls is anything from none to all.
inline Table random_mixed_table(std::mt19937_64& random) {
  MixedTable shape;
  shape.rows = random() % 10 == 0 ? random() % 2 : random() % 60;
  if (random() % 2 == 0) shape.batch_rows = 1 + random() % 40;
  shape.keys = 1 + random() % 12;
  shape.nulls_in_8 = random() % 10 == 0 ? 8 : random() % 3;
  return shape.build(random());
}

class MixedDeviceTables : public DeviceTables {
 protected:
  /// Rows and their number. `there`: both without leaving the device.
  static void expect_rows(Table const& left, Table const& right, DeviceTable const& left_there,
                          DeviceTable const& right_there, JoinSpec const& spec, std::string_view tuning,
                          bool there = true) {
    std::string keys;
    for (auto const& [of_left, of_right] : spec.on) keys += " " + of_left + "=" + of_right;
    SCOPED_TRACE(std::string(to_string(spec.kind)) + " on" + keys + (spec.nulls_equal ? ", nulls equal" : "") +
                 (spec.ordered ? ", ordered" : "") + (spec.where ? ", where " + to_string(*spec.where) : "") + ", " +
                 std::string(tuning));
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const joined = engine().join(left_there.view(), right_there.view(), spec, tuned(tuning));
    ASSERT_TRUE(joined) << joined.error().describe();
    if (there) {
      EXPECT_TRUE(is_there((*joined)->plan())) << to_string((*joined)->plan());
    }
    auto const rows = collect(**joined);
    ASSERT_TRUE(rows) << rows.error().describe();
    auto const actual = reference::read_table(rows->view());
    EXPECT_EQ(actual.names, expected.names);
    if (spec.ordered) {
      EXPECT_EQ(actual.rows, expected.rows);
    } else {
      EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
    }
    auto const counted = engine().join_count(left_there.view(), right_there.view(), spec, tuned(tuning));
    ASSERT_TRUE(counted) << counted.error().describe();
    if (there) {
      EXPECT_TRUE(is_there(counted->plan));
    }
    EXPECT_EQ(counted->rows, expected.rows.size());
  }
};

}  // namespace garuda::testing
