// Joins and group-bys of tables on a device that run on copies on the host, through the public API.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "garuda/engine.hpp"
#include "tests/device/device_tables.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda {
namespace {

using testing::DeviceTables;
using testing::keyed_table;

/// A join that a device does not do with its tables is done with copies on the host, and a note says so.
TEST_F(DeviceTables, OtherJoinsAreThoseOfCopies) {
  auto const left = keyed_table<std::int32_t>(TypeId::int32, 90, 40, 1).build();
  auto const right = keyed_table<std::int64_t>(TypeId::int64, 70, 40, 2).build();
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  auto const expect_copies = [&](JoinSpec const& spec) {
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const counted = engine().join_count(left_there.view(), right_there.view(), spec);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
    auto const joined = engine().join(left_there.view(), right_there.view(), spec);
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_TRUE(std::ranges::any_of((*joined)->plan().notes, [](std::string const& note) {
      return note.find("brought down from the device") != std::string::npos;
    })) << to_string((*joined)->plan());
    auto const rows = collect(**joined);
    ASSERT_TRUE(rows) << rows.error().describe();
    expect_same(*rows, expected);
    auto const stats = (*joined)->stats();
    EXPECT_EQ(stats.phases.front().name, "download");
    EXPECT_GT(stats.phases.front().bytes, 0U);
  };
  // By a condition alone.
  JoinSpec banded;
  banded.where = parse_condition("left.k < right.k and left.tiny > right.tiny").value();
  banded.columns = {{Side::right, "small"}, {Side::left, "wide"}};
  expect_copies(banded);
  banded.kind = JoinKind::mark;
  banded.columns.reset();
  expect_copies(banded);
}

TEST_F(DeviceTables, OtherGroupBysAreThoseOfCopies) {
  auto const table = keyed_table<std::int32_t>(TypeId::int32, 90, 12, 1).build();
  auto const there = upload(table);
  auto const aggregates = parse_aggregates("median:wide,count_distinct:tiny,var:small,first:word,arg_max:k:wide");
  ASSERT_TRUE(aggregates);
  GroupBySpec const spec{{"k"}, *aggregates, true};
  auto const grouped = engine().group_by(there.view(), spec);
  ASSERT_TRUE(grouped) << grouped.error().describe();
  EXPECT_EQ((*grouped)->take_device_table().error().code(), ErrorCode::usage);
  auto const rows = collect(**grouped);
  ASSERT_TRUE(rows) << rows.error().describe();
  EXPECT_EQ(reference::read_table(rows->view()).rows, reference::reference_group_by(table.view(), spec).rows);
  auto const notes = (*grouped)->plan().notes;
  EXPECT_TRUE(std::ranges::any_of(
      notes, [](std::string const& note) { return note.find("brought down from the device") != std::string::npos; }));
  GroupByOptions forced;
  forced.tuning.placement = Placement::device;
  EXPECT_EQ(engine().group_by(there.view(), spec, forced).error().code(), ErrorCode::invalid_input);
}

}  // namespace
}  // namespace garuda
