// Group-bys whose table goes to the device whole, through the public API: whole results against the oracle, whatever
// the batches and kinds of host memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/workloads/group_tables.hpp"

namespace garuda {
namespace {

using testing::GroupTableCase;

class StreamedGroupBy : public testing::EngineTest {
 protected:
  static GroupByOptions options_with(std::string const& tuning) {
    GroupByOptions options;
    options.path = Path::compute;
    options.device = "0";
    options.tuning = *parse_group_by_tuning("placement=device" + (tuning.empty() ? "" : "," + tuning));
    return options;
  }

  static GroupBySpec spec_of(std::vector<std::string> keys, std::string_view aggregates, bool ordered = false) {
    return {std::move(keys), *parse_aggregates(aggregates), ordered};
  }

  static GroupTableCase small_case() {
    GroupTableCase c;
    c.rows = 1'000;
    c.groups = 60;
    c.keys = 9;
    c.nulls = true;
    c.batch_rows = 300;
    return c;
  }

  static Result<RunStats> expect_groups(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    GARUDA_TRY_ASSIGN(auto const result, engine().group_by(table, spec, options));
    EXPECT_NE(result->plan().tuning.find("placement=device"), std::string::npos) << result->plan().tuning;
    GARUDA_TRY_ASSIGN(auto const grouped, collect(*result));
    auto const actual = reference::read_table(grouped.view());
    auto const expected = reference::reference_group_by(table, spec);
    EXPECT_EQ(actual.names, expected.names);
    if (spec.ordered) {
      EXPECT_EQ(actual.rows, expected.rows);
    } else {
      EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
    }
    EXPECT_EQ(result->stats().rows_out, expected.rows.size());
    EXPECT_EQ(result->stats().path, Path::compute);
    return result->stats();
  }

  static std::optional<ErrorCode> code_of(TableView table, GroupBySpec const& spec, GroupByOptions const& options) {
    auto const result = engine().group_by(table, spec, options);
    return result ? std::nullopt : std::optional(result.error().code());
  }
};

TEST_F(StreamedGroupBy, EqualsTheOracleInBatches) {
  auto const table = testing::make_table(small_case());
  for (auto const* const tuning : {"", "chunk_rows=7", "chunk_rows=59,upload=stage,lanes=3"}) {
    SCOPED_TRACE(tuning);
    auto const stats =
        expect_groups(table.view(), spec_of({"k0", "k4"}, "sum:f64,mean:i16,max:b,count"), options_with(tuning));
    ASSERT_TRUE(stats) << stats.error().describe();
  }
  auto const ordered =
      expect_groups(table.view(), spec_of({"k0"}, "sum:f64,count", true), options_with("chunk_rows=7"));
  ASSERT_TRUE(ordered) << ordered.error().describe();
}

TEST_F(StreamedGroupBy, ReadsPinnedMemoryInPlace) {
  auto c = small_case();
  c.nulls = false;
  auto const table = testing::make_table(c);
  auto const columns = Table({table.schema()[0], table.schema()[2]}, [&] {
    std::vector<Batch> batches;
    for (auto const& batch : table.batches())
      batches.push_back({batch.num_rows, {batch.columns[0], batch.columns[2]}, batch.owner});
    return batches;
  }());
  auto const pinned = engine().pin(columns.view());
  if (!pinned && pinned.error().code() == ErrorCode::no_device) GTEST_SKIP() << pinned.error().describe();
  ASSERT_TRUE(pinned) << pinned.error().describe();
  auto const stats = expect_groups(pinned->view(), spec_of({"k0"}, "sum:k2"), options_with(""));
  ASSERT_TRUE(stats) << stats.error().describe();
  EXPECT_TRUE(std::ranges::any_of(stats->counters, [](auto const& entry) { return entry.first == "pinned"; }));
}

TEST_F(StreamedGroupBy, SaysWhyItCannot) {
  auto const table = testing::make_table(small_case());
  auto const strings = spec_of({"k1"}, "count");
  EXPECT_EQ(code_of(table.view(), strings, options_with("")), ErrorCode::usage) << "strings";
  auto limited = options_with("");
  limited.device_memory_limit_bytes = 1'000;
  EXPECT_EQ(code_of(table.view(), spec_of({"k0"}, "count"), limited), ErrorCode::limit_exceeded);
  auto on_cpu = options_with("");
  on_cpu.path = Path::cpu;
  on_cpu.device.reset();
  EXPECT_EQ(code_of(table.view(), spec_of({"k0"}, "count"), on_cpu), ErrorCode::usage);
  EXPECT_EQ(code_of(table.view(), spec_of({"k0"}, "count"), options_with("radix_bits=2")), ErrorCode::usage);
  // Not asked for, strings are grouped in slices, and the plan says why.
  auto open = options_with("");
  open.tuning.placement = Placement::automatic;
  auto const sliced = engine().group_by(table.view(), strings, open);
  ASSERT_TRUE(sliced) << sliced.error().describe();
  auto const& notes = (*sliced)->plan().notes;
  EXPECT_TRUE(std::ranges::any_of(notes, [](auto const& note) { return note.starts_with("placement=slices"); }));
  auto const grouped = collect(**sliced);
  ASSERT_TRUE(grouped);
  EXPECT_EQ(reference::sorted(reference::read_table(grouped->view())),
            reference::sorted(reference::reference_group_by(table.view(), strings)));
}

TEST_F(StreamedGroupBy, IsExplainedAndStops) {
  auto const table = testing::make_table(small_case());
  auto const spec = spec_of({"k0"}, "sum:f64");
  auto const plan = engine().explain_group_by(table.view(), spec, options_with(""));
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_EQ(plan->path, Path::compute);
  EXPECT_GT(plan->estimated_ns, 0);
  EXPECT_TRUE(std::ranges::any_of(plan->details, [](auto const& detail) { return detail.first == "placement"; }));
  std::atomic<bool> const cancelled{true};
  auto stopped = options_with("");
  stopped.control.cancelled = &cancelled;
  EXPECT_EQ(code_of(table.view(), spec, stopped), ErrorCode::cancelled);
  // Given up after the first batch.
  auto begun = engine().group_by(table.view(), spec, options_with("chunk_rows=7"));
  ASSERT_TRUE(begun) << begun.error().describe();
  ASSERT_TRUE((*begun)->next());
}

}  // namespace
}  // namespace garuda
