// Strings in tables on a device: what goes up comes down, follows the rows of joins, and is a key of joins and
// group-bys there. Whole results equal the oracle's.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/range_download.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "tests/device/device_tables.hpp"
#include "tests/device/string_tables.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::draw_texts;
using testing::string_shapes;
using testing::StringLayout;
using testing::StringTable;
using testing::Texts;

constexpr std::array kLayouts{StringLayout::utf8,         StringLayout::large_utf8, StringLayout::binary,
                              StringLayout::large_binary, StringLayout::utf8_view,  StringLayout::binary_view,
                              StringLayout::dictionary};
constexpr std::array kKinds{JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full,
                            JoinKind::semi,  JoinKind::anti, JoinKind::mark};

class DeviceStrings : public testing::DeviceTables {
 protected:
  static JoinSpec on(std::string const& key, JoinKind kind = JoinKind::inner, bool nulls_equal = false) {
    JoinSpec spec;
    spec.on = {{key, key}};
    spec.kind = kind;
    spec.nulls_equal = nulls_equal;
    return spec;
  }

  /// A table of which so many bytes of strings lie together.
  static DeviceTable upload_in_pieces(Table const& table, std::uint64_t most_bytes) {
    static auto const& there =
        *new DeviceTable(upload(testing::keyed_table<std::int32_t>(TypeId::int32, 1, 1, 1).build()));
    std::vector<std::size_t> all(table.schema().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    device::UploadOptions options;
    options.most_string_bytes = most_bytes;
    auto uploaded = device::upload_table(table.view(), all, there.state().device, options);
    if (!uploaded) throw std::runtime_error(uploaded.error().describe());
    return std::move(*uploaded);
  }

  /// Numbers the strings `s` of both tables by so few bits of their hashes that many are equal; joins find these
  /// numbers kept, as any others.
  static void number_by_few_bits(DeviceTable const& left, DeviceTable const& right) {
    auto const strings_of = [](DeviceTable const& table) {
      return table.state().columns[*find_column(table.schema(), "s")].strings;
    };
    auto const both = device::strings_of_both(strings_of(left), strings_of(right)).value();
    Control const control;
    ASSERT_TRUE(device::string_numbers(left.state(), *both, control, 4));
  }

  static void expect_rows(Table const& left, Table const& right, DeviceTable const& left_there,
                          DeviceTable const& right_there, JoinSpec const& spec, std::string_view tuning) {
    SCOPED_TRACE(std::string(to_string(spec.kind)) + (spec.nulls_equal ? ", nulls equal, " : ", ") +
                 std::string(tuning));
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const joined = engine().join(left_there.view(), right_there.view(), spec, tuned(tuning));
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_TRUE(is_there((*joined)->plan())) << to_string((*joined)->plan());
    auto const rows = collect(**joined);
    ASSERT_TRUE(rows) << rows.error().describe();
    if (spec.ordered) {
      EXPECT_EQ(reference::read_table(rows->view()), expected);
    } else {
      expect_same(*rows, expected);
    }
    auto const counted = engine().join_count(left_there.view(), right_there.view(), spec, tuned(tuning));
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_TRUE(is_there(counted->plan));
    EXPECT_EQ(counted->rows, expected.rows.size());
  }

  static void expect_groups(Table const& table, DeviceTable const& there, GroupBySpec const& spec,
                            std::string_view tuning = "") {
    SCOPED_TRACE(tuning);
    GroupByOptions options;
    options.tuning = *parse_group_by_tuning(tuning);
    auto const grouped = engine().group_by(there.view(), spec, options);
    ASSERT_TRUE(grouped) << grouped.error().describe();
    EXPECT_TRUE(is_there((*grouped)->plan())) << to_string((*grouped)->plan());
    auto const rows = collect(**grouped);
    ASSERT_TRUE(rows) << rows.error().describe();
    auto const expected = reference::reference_group_by(table.view(), spec);
    if (spec.ordered) {
      EXPECT_EQ(reference::read_table(rows->view()), expected);
    } else {
      expect_same(*rows, expected);
    }
  }

  static GroupBySpec groups_of(std::vector<std::string> keys, std::string_view aggregates, bool ordered = false) {
    return {std::move(keys), *parse_aggregates(aggregates), ordered};
  }
};

/// A table of strings of every shape.
Table shapes_table(std::size_t rows, StringLayout layout, std::uint64_t seed, std::uint64_t null_share = 6,
                   std::size_t batch_rows = 40) {
  return StringTable{draw_texts(string_shapes(), rows, null_share, seed), layout, batch_rows, seed}.build();
}

/// Few strings, so that they match; of equal length but for some, and from the `first` on.
Texts few_texts(std::size_t rows, std::size_t distinct, std::size_t first, std::uint64_t null_share,
                std::uint64_t seed) {
  std::vector<std::string> from;
  for (std::size_t i = first; i < first + distinct; ++i)
    from.push_back(i % 5 == 0 ? std::string(i / 5, 'e') : "customer " + std::to_string(1'000 + i));
  return draw_texts(from, rows, null_share, seed);
}

Table few_table(std::size_t rows, StringLayout layout, std::size_t first, std::uint64_t seed,
                std::uint64_t null_share = 7) {
  return StringTable{few_texts(rows, 30, first, null_share, seed), layout, 50, seed}.build();
}

TEST_F(DeviceStrings, WhatGoesUpComesDown) {
  for (auto const layout : kLayouts)
    for (std::size_t const rows : {0U, 1U, 33U, 700U}) {
      for (std::uint64_t const null_share : {0U, 4U, 1U}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(layout)) + ", rows " + std::to_string(rows));
        auto const table = shapes_table(rows, layout, rows + 1, null_share, rows == 33 ? 7 : 300);
        auto const there = upload(table);
        EXPECT_EQ(there.schema(), table.schema());
        EXPECT_EQ(there.num_rows(), rows);
        auto const back = download(there);
        EXPECT_EQ(reference::read_table(back.view()), reference::read_table(table.view()));
      }
    }
}

TEST_F(DeviceStrings, SlicesOfArraysGoUp) {
  auto const whole = shapes_table(200, StringLayout::utf8, 5, 6, 200);
  std::vector<Batch> batches;
  for (auto const& [first, rows] : {std::pair{13, 40}, {150, 50}, {0, 0}, {7, 1}}) {
    Batch batch;
    batch.num_rows = rows;
    for (auto const& column : whole.batches()[0].columns) batch.columns.push_back(slice(column, first, rows));
    batches.push_back(std::move(batch));
  }
  Table const table(whole.schema(), std::move(batches));
  EXPECT_EQ(reference::read_table(download(upload(table)).view()), reference::read_table(table.view()));
}

TEST_F(DeviceStrings, StringsInSeveralPieces) {
  auto const shapes = string_shapes();
  auto const longest = std::ranges::max(shapes, {}, &std::string::size).size();
  for (auto const layout : kLayouts) {
    auto const left = shapes_table(150, layout, 1);
    auto const right = shapes_table(120, layout, 2);
    auto const left_there = upload_in_pieces(left, longest + 3);
    auto const right_there = upload_in_pieces(right, 2 * longest);
    EXPECT_EQ(reference::read_table(download(left_there).view()), reference::read_table(left.view()));
    if (!testing::takes_compiled_case(static_cast<std::uint64_t>(layout))) continue;
    expect_rows(left, right, left_there, right_there, on("s", JoinKind::full), "");
    expect_groups(left, left_there, groups_of({"s"}, "count,sum:n"));
  }
  auto const table = shapes_table(150, StringLayout::utf8, 1);
  EXPECT_THROW(upload_in_pieces(table, 100), std::runtime_error);
}

/// Ranges are halved until the strings of each column fit; one string alone has to.
TEST_F(DeviceStrings, RangesOfManyBytesAreHalved) {
  auto const table = shapes_table(300, StringLayout::utf8, 3);
  auto const there = upload(table);
  Control const control;
  auto const lane = compute::ComputeLane::open(there.state().device.open, control).value();
  auto const columns = device::all_columns(there.state());
  auto download = device::StringDownload::create(lane->context(), there.state(), columns, 300).value();
  std::uint64_t rows = 300;
  auto const gathered = download.gather(0, rows, 6'000).value();
  EXPECT_LT(rows, 300U);
  EXPECT_LE(gathered[0]->num_bytes, 6'000U);
  EXPECT_LE(gathered[2]->num_bytes, 6'000U);
  rows = 300;
  std::uint64_t first = 0;
  Result<device::GatheredColumns> refused = device::GatheredColumns{};
  for (; first < 300 && refused; ++first) {
    rows = 1;
    refused = download.gather(first, rows, 4'000);
  }
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::limit_exceeded);
}

TEST_F(DeviceStrings, FollowTheRowsOfJoins) {
  auto const left = shapes_table(200, StringLayout::utf8, 1);
  auto const right = shapes_table(60, StringLayout::dictionary, 2);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  std::uint64_t cases = 0;
  for (auto const* const tuning : {"", "payload=gather", "payload=carry,chunk_rows=100", "method=global"})
    for (auto const kind : kKinds)
      if (testing::takes_compiled_case(cases++))
        expect_rows(left, right, left_there, right_there, on("n", kind), tuning);
  auto ordered = on("n", JoinKind::left);
  ordered.ordered = true;
  expect_rows(left, right, left_there, right_there, ordered, "chunk_rows=77");
}

TEST_F(DeviceStrings, AreKeysOfEveryKindOfJoin) {
  auto const left = few_table(300, StringLayout::utf8, 0, 1);
  auto const right = few_table(200, StringLayout::dictionary, 15, 2);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  std::uint64_t cases = 0;
  for (bool const nulls_equal : {false, true})
    for (auto const* const tuning : {"", "payload=gather,build=left", "method=global"})
      for (auto const kind : kKinds)
        if (testing::takes_compiled_case(cases++))
          expect_rows(left, right, left_there, right_there, on("s", kind, nulls_equal), tuning);
  for (auto const kind : {JoinKind::semi, JoinKind::anti, JoinKind::mark})
    expect_rows(left, right, left_there, right_there, on("s", kind), "method=bitmap");
  DeviceTable const others[]{upload(left), upload(right)};
  number_by_few_bits(others[0], others[1]);
  for (auto const kind : kKinds)
    if (testing::takes_compiled_case(cases++)) expect_rows(left, right, others[0], others[1], on("s", kind), "");
  for (auto const kind : {JoinKind::inner, JoinKind::left, JoinKind::full}) {
    auto ordered = on("s", kind);
    ordered.ordered = true;
    expect_rows(left, right, left_there, right_there, ordered, "");
  }
}

/// Strings of every shape match in every pair of layouts; truncated hashes prove that their bytes are compared.
TEST_F(DeviceStrings, KeysOfEveryShapeAndLayout) {
  std::uint64_t cases = 0;
  for (auto const left_layout : kLayouts)
    for (auto const right_layout : kLayouts) {
      auto const is_binary = [](StringLayout layout) {
        return layout == StringLayout::binary || layout == StringLayout::large_binary ||
               layout == StringLayout::binary_view;
      };
      if (is_binary(left_layout) != is_binary(right_layout) || !testing::takes_compiled_case(cases++)) continue;
      SCOPED_TRACE(std::to_string(static_cast<int>(left_layout)) + ", " +
                   std::to_string(static_cast<int>(right_layout)));
      auto const left = shapes_table(150, left_layout, 11);
      auto const right = shapes_table(170, right_layout, 12);
      for (bool const by_few_bits : {true, false}) {
        auto const left_there = upload(left);
        auto const right_there = upload(right);
        if (by_few_bits) number_by_few_bits(left_there, right_there);
        expect_rows(left, right, left_there, right_there, on("s", JoinKind::full, true), "");
      }
    }
}

TEST_F(DeviceStrings, TablesWithoutRowsOrStrings) {
  auto const some = few_table(50, StringLayout::utf8, 0, 1);
  std::vector<Table> others;
  for (auto const layout : {StringLayout::utf8, StringLayout::dictionary})
    others.push_back(StringTable{{}, layout}.build());
  others.push_back(StringTable{Texts(40, std::nullopt), StringLayout::utf8}.build());
  others.push_back(StringTable{Texts(40, std::string()), StringLayout::utf8}.build());
  auto const some_there = upload(some);
  for (auto const& other : others) {
    auto const other_there = upload(other);
    for (auto const kind : {JoinKind::inner, JoinKind::full, JoinKind::mark})
      for (bool const nulls_equal : {false, true}) {
        expect_rows(some, other, some_there, other_there, on("s", kind, nulls_equal), "");
        expect_rows(other, some, other_there, some_there, on("s", kind, nulls_equal), "");
        expect_rows(other, other, other_there, other_there, on("s", kind, nulls_equal), "");
      }
    expect_groups(other, other_there, groups_of({"s"}, "count,count:t"));
  }
}

/// Key columns chosen one by one are those of their tables, dictionaries with their own codes.
TEST_F(DeviceStrings, ChosenKeyColumnsAreThoseOfTheirTables) {
  auto const left = few_table(100, StringLayout::dictionary, 0, 1);
  auto const right = few_table(120, StringLayout::large_utf8, 10, 2);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  for (bool const nulls_equal : {false, true})
    for (auto const kind : {JoinKind::inner, JoinKind::left, JoinKind::full}) {
      auto spec = on("s", kind, nulls_equal);
      spec.columns = {{Side::right, "s"}, {Side::left, "t"}, {Side::left, "s"}, {Side::right, "n"}};
      expect_rows(left, right, left_there, right_there, spec, "");
      auto const joined = join(left_there, right_there, spec);
      EXPECT_EQ(joined.schema()[0].type.id, TypeId::large_utf8);
      EXPECT_EQ(joined.schema()[2].type, left.schema()[0].type);
    }
}

TEST_F(DeviceStrings, AreKeysOfGroupBys) {
  for (auto const layout : kLayouts) {
    SCOPED_TRACE(static_cast<int>(layout));
    auto const table = shapes_table(400, layout, 3);
    auto const there = upload(table);
    for (auto const* const tuning : {"", "method=hash", "method=partitioned", "method=shared"}) {
      if (layout != StringLayout::utf8 && !std::string_view(tuning).empty()) continue;
      expect_groups(table, there, groups_of({"s"}, "count,sum:n,count:t"), tuning);
    }
    expect_groups(table, there, groups_of({"s"}, "", true));
  }
  auto const table = few_table(500, StringLayout::utf8, 0, 9);
  auto const there = upload(table);
  expect_groups(table, there, groups_of({"n", "s"}, "count,max:n", true));
  expect_groups(table, there, groups_of({"s", "t"}, "count"));
  expect_groups(table, there, groups_of({"s", "n", "t"}, "min:n", true));
}

TEST_F(DeviceStrings, ResultsAreTables) {
  auto const a = few_table(120, StringLayout::utf8, 0, 1);
  auto const b = few_table(90, StringLayout::dictionary, 15, 2);
  auto const c = few_table(60, StringLayout::large_utf8, 5, 3);
  auto const a_there = upload(a);
  auto const b_there = upload(b);
  auto const first = join(a_there, b_there, on("s", JoinKind::full));
  auto const on_host = download(first);
  expect_groups(on_host, first, groups_of({"s"}, "count,sum:n"));
  expect_rows(on_host, c, first, upload(c), on("s", JoinKind::full), "");
  expect_rows(on_host, a, first, a_there, on("s", JoinKind::semi), "");
  auto const groups = take(engine().group_by(first.view(), groups_of({"t"}, "count")));
  expect_rows(download(groups), a, groups, a_there, on("t", JoinKind::left), "");
}

TEST_F(DeviceStrings, OutliveTheTablesThatTheyCameFrom) {
  auto const a = few_table(120, StringLayout::utf8, 0, 1);
  auto const b = few_table(90, StringLayout::utf8, 15, 2);
  auto const joined = join(upload(a), upload(b), on("s", JoinKind::full));
  expect_same(download(joined), reference::reference_join_table(a.view(), b.view(), on("s", JoinKind::full)));
}

TEST_F(DeviceStrings, AsViewsWhereAskedFor) {
  auto const a = shapes_table(120, StringLayout::utf8, 1);
  auto const b = shapes_table(90, StringLayout::utf8, 2);
  auto spec = on("s", JoinKind::left);
  spec.strings = StringForm::view;
  auto const joined = engine().join(upload(a).view(), upload(b).view(), spec);
  ASSERT_TRUE(joined) << joined.error().describe();
  auto const rows = collect(**joined);
  ASSERT_TRUE(rows) << rows.error().describe();
  EXPECT_EQ(rows->schema()[0].type.id, TypeId::utf8_view);
  EXPECT_EQ(rows->schema()[2].type.id, TypeId::utf8_view);
  expect_same(*rows, reference::reference_join_table(a.view(), b.view(), spec));
}

TEST_F(DeviceStrings, PlansSayHowKeysAreCompared) {
  auto const a = upload(few_table(120, StringLayout::utf8, 0, 1));
  auto const b = upload(few_table(90, StringLayout::utf8, 15, 2));
  auto const how = [](Plan const& plan) {
    auto const found = std::ranges::find(plan.details, "string keys", [](auto const& detail) { return detail.first; });
    return found == plan.details.end() ? std::string() : found->second;
  };
  auto const number_ns = [](Plan const& plan) {
    auto const& phases = plan.phases_ns;
    auto const found = std::ranges::find(phases, "number strings", [](auto const& phase) { return phase.first; });
    return found == phases.end() ? -1.0 : found->second;
  };
  JoinOptions expecting;  // else a sample is joined for the plan, which numbers them
  expecting.expected_rows = 500;
  auto const first = engine().explain_join(a.view(), b.view(), on("s"), expecting).value();
  EXPECT_EQ(how(first), "210 strings are hashed and compared on the device");
  EXPECT_GT(number_ns(first), 0);
  auto const bytes = a.device_bytes();
  (void)join(a, b, on("s"));
  EXPECT_EQ(a.device_bytes(), bytes + 210 * 4);
  auto const second = engine().explain_join(a.view(), b.view(), on("s"), expecting).value();
  EXPECT_EQ(how(second), "210 strings, by numbers kept with the table");
  EXPECT_LE(number_ns(second), 0) << "nothing is left to do";
  EXPECT_EQ(how(engine().explain_group_by(a.view(), groups_of({"s"}, "count")).value()),
            "120 strings are hashed and compared on the device");
  EXPECT_EQ(how(engine().explain_join(a.view(), b.view(), on("n")).value()), "");
}

/// The order of strings in conditions is tested there, their extremes are the host's.
TEST_F(DeviceStrings, ConditionsAreTestedThereExtremesAreThoseOfCopies) {
  auto const left = few_table(80, StringLayout::utf8, 0, 1);
  auto const right = few_table(70, StringLayout::dictionary, 10, 2);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  auto tested = on("s");
  tested.where = parse_condition("left.t < right.t").value();
  auto const joined = engine().join(left_there.view(), right_there.view(), tested);
  ASSERT_TRUE(joined) << joined.error().describe();
  EXPECT_TRUE(is_there((*joined)->plan()));
  auto const joined_rows = collect(**joined);
  ASSERT_TRUE(joined_rows) << joined_rows.error().describe();
  expect_same(*joined_rows, reference::reference_join_table(left.view(), right.view(), tested));
  auto const spec = groups_of({"s"}, "min:t,count");
  auto const grouped = engine().group_by(left_there.view(), spec);
  ASSERT_TRUE(grouped) << grouped.error().describe();
  EXPECT_FALSE(is_there((*grouped)->plan()));
  auto const rows = collect(**grouped);
  ASSERT_TRUE(rows) << rows.error().describe();
  expect_same(*rows, reference::reference_group_by(left.view(), spec));
}

/// The engine's conditions beside a string key.
TEST_F(DeviceStrings, ConditionsBesideStringKeys) {
  auto const left = few_table(80, StringLayout::utf8, 0, 1);
  auto const right = few_table(70, StringLayout::utf8, 10, 2);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  for (auto const kind : kKinds) {
    auto spec = on("s", kind);
    spec.where = parse_condition("left.n < right.n").value();
    expect_rows(left, right, left_there, right_there, spec, "");
  }
}

}  // namespace
}  // namespace garuda
