// Costs of whole tables on a device by recorded calibrations, beside measurements there.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "operators/placement/whole_offer.hpp"
#include "operators/plan/join_planner.hpp"
#include "tests/plan/planner_shapes.hpp"
#include "tests/plan/recorded_machine.hpp"

namespace garuda::plan {
namespace {

using testing::dense_join;
using testing::device_rates;
using testing::host_rates;
using testing::RecordedMachine;

/// A join of as many rows a side, eight threads copying each way.
struct StreamedJoin {
  double rows = 0;
  double matches = 0;
  double key_bytes = 4;
  double payloads = 1;  ///< int32 columns a side
  bool gathers = false;
};

double streamed_join_ns(RecordedMachine const& recorded_machine, StreamedJoin const& join) {
  placement::StreamedShape shape;
  shape.build_rows = shape.probe_rows = join.rows;
  shape.matches = join.matches;
  auto const row_bytes = join.key_bytes + 4 * join.payloads;
  shape.build_row_bytes = shape.probe_row_bytes = shape.build_moved_bytes = shape.probe_moved_bytes = row_bytes;
  shape.result_row_bytes = shape.arriving_row_bytes = join.key_bytes + 8 * join.payloads;
  shape.key_bytes = join.key_bytes;
  shape.range_rows = std::max(join.rows / 8, 1048576.0);
  shape.copy_threads = 8;
  if (join.gathers) shape.gathered = {{4, 4 * join.rows}};
  auto const& machine = recorded_machine.machine;
  return contract::total_ns(
      placement::streamed_join_costs(shape, *machine.devices[0].measured, *machine.measured_host));
}

/// The cheapest strategy without streaming.
double others_ns(contract::JoinShape shape, RecordedMachine const& recorded_machine) {
  shape.threads = recorded_machine.machine.measured_host->threads;
  auto const planned = plan_join(shape, recorded_machine.machine, {});
  EXPECT_TRUE(planned) << planned.error().describe();
  return planned ? planned->plan.estimated_ns : 0;
}

/// 2^27 rows from ordinary memory, grouped on an H200 by one int32 key, with one sum: 44.4 ms for int32 values and 2^16
/// groups, 59.6 ms for float64, 64.6 ms for 2^24 groups (2026-11-21).
TEST(StreamedCosts, StreamedGroupBysOfAnH200TakeWhatWasMeasured) {
  auto const rates = device_rates("h200");
  auto const host = host_rates("h200_host");
  struct Measured {
    double row_bytes;
    double groups;
    double ms;
  };
  for (auto const& [row_bytes, groups, ms] : {Measured{8, 65'536, 44.4}, {12, 65'536, 59.6}, {8, 16'777'216, 64.6}}) {
    placement::StreamedGroupShape shape;
    shape.rows = 134'217'728;
    shape.groups = groups;
    shape.row_bytes = row_bytes;
    shape.result_row_bytes = 12;
    shape.copy_threads = 8;
    double total = 0;
    for (auto const& [phase, ns] : placement::streamed_group_by_costs(shape, rates, host)) total += ns;
    EXPECT_NEAR(total, ms * 1e6, 0.15 * ms * 1e6) << row_bytes << " bytes a row, groups " << groups;
  }
}

/// End to end, one int32 payload a side, ordinary memory, median ms (2026-11-21).
TEST(StreamedCosts, WholeTablesOnAnH200TakeAboutWhatWasMeasured) {
  RecordedMachine const recorded_machine("h200", "h200_host");
  auto const& host = *recorded_machine.machine.measured_host;
  auto const streamed_ns = [&](double rows, double matches, double key_bytes, bool gathers = false) {
    return streamed_join_ns(recorded_machine, {rows, matches, key_bytes, 1, gathers});
  };
  constexpr std::array<std::pair<int, double>, 6> kMeasured{
      {{16, 6.8}, {18, 7.1}, {20, 8.3}, {22, 11.3}, {24, 20.7}, {27, 97.6}}};
  for (auto const& [bits, measured_ms] : kMeasured) {
    auto const rows = static_cast<double>(std::uint64_t{1} << bits);
    EXPECT_NEAR(streamed_ns(rows, rows, 4) * 1e-6, measured_ms, 0.3 * measured_ms) << bits;
    auto shape = dense_join(1ULL << bits, 1ULL << bits);
    shape.threads = host.threads;
    auto const other_ns = others_ns(shape, recorded_machine);
    // The CPU path: 1.7, 2.7, 4.6, 8.8 and 27.5 ms up to 2^24 rows, and 580 of 2^26.
    if (bits != 22) {
      EXPECT_EQ(streamed_ns(rows, rows, 4) < other_ns, bits > 22) << bits;
    }
  }
  auto const rows = static_cast<double>(1 << 24);
  EXPECT_GT(streamed_ns(rows, 8 * rows, 4), 2 * streamed_ns(rows, rows, 4)) << "rows that multiply";
  EXPECT_LT(streamed_ns(rows, rows / 32, 4), streamed_ns(rows, rows, 4)) << "few that match";
  EXPECT_GT(streamed_ns(rows, rows, 8), 1.2 * streamed_ns(rows, rows, 4)) << "wide keys";
  EXPECT_GT(streamed_ns(rows, rows, 4, true), streamed_ns(rows, rows, 4)) << "columns that the host gathers";
}

/// Beside another H200, 2^22 dense rows a side take 8.5 ms on the CPU path and 11 on the device, 2^26 take 107 and 50.
TEST(StreamedCosts, JoinsStayOnAFastHostWhileTheyAreSmall) {
  RecordedMachine const recorded_machine("h200_second", "h200_second_host");
  for (auto const& [bits, is_streamed] : {std::pair{20, false}, {22, false}, {26, true}, {28, true}}) {
    auto const rows = std::uint64_t{1} << bits;
    auto const streamed = streamed_join_ns(recorded_machine, {static_cast<double>(rows), static_cast<double>(rows)});
    EXPECT_EQ(streamed < others_ns(dense_join(rows, rows), recorded_machine), is_streamed) << bits;
  }
}

}  // namespace
}  // namespace garuda::plan
