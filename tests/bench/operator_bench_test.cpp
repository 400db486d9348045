#include "bench/operator_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "tests/unwrap.hpp"

namespace garuda::bench {
namespace {

using ::testing::HasSubstr;
using testing::value_of;

OperatorRequest small_join() {
  OperatorRequest request;
  auto& workload = request.workload.emplace<JoinWorkload>();
  workload.rows_left = 200;
  workload.rows_right = 1000;
  workload.match_ratio = 0.5;
  request.repeat = 3;
  return request;
}

OperatorRequest small_group_by(ValueType type) {
  OperatorRequest request;
  auto& [workload, functions] = request.workload.emplace<GroupByCase>();
  workload.rows = 3000;
  workload.groups = 100;
  workload.keys = 3;
  workload.value_type = type;
  functions = {AggregateFunction::count, AggregateFunction::sum, AggregateFunction::min, AggregateFunction::max,
               AggregateFunction::mean};
  request.paths = {Path::cpu};
  request.repeat = 3;
  return request;
}

JoinWorkload& join_of(OperatorRequest& request) { return std::get<JoinWorkload>(request.workload); }
GroupWorkload& groups_of(OperatorRequest& request) { return std::get<GroupByCase>(request.workload).workload; }

/// The name of the error that the changed request ends with.
template <class Change>
std::string refusal(OperatorRequest request, Change const& change) {
  change(request);
  auto const outcomes = run_operator_bench(request);
  return outcomes ? std::string("none") : std::string(to_string(outcomes.error().code()));
}

TEST(OperatorBench, VerifiesAndTimesEveryPathInTheOrderAskedFor) {
  auto request = small_join();
  request.paths = {Path::graphics, Path::cpu};
  request.device.emplace("0");
  auto const outcomes = value_of(run_operator_bench(request));
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].record.path, "graphics");
  EXPECT_EQ(outcomes[1].record.path, "cpu");
  for (auto const& outcome : outcomes) {
    auto const& record = outcome.record;
    EXPECT_TRUE(record.verified);
    EXPECT_EQ(record.rows_out, 500U);
    EXPECT_EQ(record.time.samples, 3U);
    EXPECT_GT(record.time.median_ns, 0U);
    EXPECT_EQ(record.bytes, 200U * 8 + 1000U * 8 + 500U * 12);
    EXPECT_FALSE(record.device.empty());
    EXPECT_FALSE(record.driver.empty());
    EXPECT_GT(outcome.bandwidth.bytes_per_s, 0);
    EXPECT_TRUE(outcome.beside.empty());
  }
}

TEST(OperatorBench, DrawsTheFloorBesideTheJoin) {
  auto request = small_join();
  join_of(request).rows_left = join_of(request).rows_right = 1000;
  join_of(request).match_ratio = 1;
  request.paths = {Path::graphics, Path::cpu};
  request.floor = true;
  auto const outcomes = value_of(run_operator_bench(request));
  ASSERT_EQ(outcomes.front().beside.size(), 1U);
  auto const& floor = outcomes.front().beside.front();
  EXPECT_EQ(floor.op, "raster-floor");
  EXPECT_GT(floor.time.median_ns, 0U);
  ASSERT_EQ(outcomes.front().ratios.size(), 1U);
  EXPECT_GT(outcomes.front().ratios.front().second.median, 0);
  std::uint64_t points = 0;
  for (auto const& phase : floor.phases) points += phase.items;
  EXPECT_GE(points, 3000U) << "build, count and probe draw each row once at least";
  EXPECT_TRUE(outcomes.back().beside.empty()) << "the CPU path draws nothing";
}

TEST(OperatorBench, RefusesBadJoins) {
  std::atomic<bool> const cancelled{true};
  EXPECT_EQ(refusal(small_join(), [](auto& r) { r.repeat = 0; }), "usage");
  EXPECT_EQ(refusal(small_join(), [](auto& r) { r.paths.clear(); }), "usage");
  EXPECT_EQ(refusal(small_join(),
                    [](auto& r) {
                      r.paths = {Path::cpu};
                      r.floor = true;
                    }),
            "usage");
  EXPECT_EQ(refusal(small_join(), [](auto& r) { r.tuning = "radix_bits=many"; }), "usage");
  EXPECT_EQ(refusal(small_join(), [&](auto& r) { r.cancelled = &cancelled; }), "cancelled");
  EXPECT_EQ(refusal(small_join(), [](auto& r) { join_of(r).match_ratio = 2; }), "usage");
  EXPECT_EQ(refusal(small_join(),
                    [](auto& r) {
                      auto& workload = join_of(r);
                      workload.rows_left = workload.rows_right = workload.multiplicity = 1ULL << 30;
                    }),
            "out_of_memory");
  EXPECT_EQ(refusal(small_join(),
                    [](auto& r) {
                      r.mode = Mode::resident;
                      r.memory = TableMemory::pinned;
                    }),
            "usage");
}

TEST(OperatorBench, VerifiesAndTimesEveryValueType) {
  for (auto const type : {ValueType::i32, ValueType::i64, ValueType::f64}) {
    auto const outcomes = value_of(run_operator_bench(small_group_by(type)));
    auto const& record = outcomes.front().record;
    EXPECT_TRUE(record.verified);
    EXPECT_EQ(record.rows_out, 100U);
    EXPECT_EQ(record.time.samples, 3U);
    auto const line = nlohmann::json::parse(to_json_line(record));
    EXPECT_EQ(line["op"], "group-by");
    EXPECT_EQ(line["rows"], 3000);
    EXPECT_EQ(line["groups"], 100);
    EXPECT_FALSE(line.contains("rows_left"));
  }
}

TEST(OperatorBench, RefusesBadGroupBys) {
  auto const refused = [](auto const& change) { return refusal(small_group_by(ValueType::i64), change); };
  EXPECT_EQ(refused([](auto& r) { groups_of(r).groups = 0; }), "usage");
  EXPECT_EQ(refused([](auto& r) { groups_of(r).keys = 0; }), "usage");
  EXPECT_EQ(refused([](auto& r) { r.repeat = 0; }), "usage");
  EXPECT_EQ(refused([](auto& r) { r.floor = true; }), "usage");
  EXPECT_EQ(refused([](auto& r) { groups_of(r).distribution.kind = KeyDistribution::Kind::dense; }), "usage");
}

TEST(OperatorBench, TimesResidentTablesBesideCopies) {
  for (auto request : {small_join(), small_group_by(ValueType::f64)}) {
    request.mode = Mode::resident;
    request.paths = {Path::compute};
    auto const outcomes = value_of(run_operator_bench(request));
    EXPECT_TRUE(outcomes.front().record.verified);
    EXPECT_EQ(outcomes.front().record.mode, "resident");
    EXPECT_TRUE(outcomes.front().record.host_time);
    EXPECT_GT(outcomes.front().bandwidth.bytes_per_s, 0);
  }
  EXPECT_EQ(refusal(small_join(), [](auto& r) { r.mode = Mode::resident; }), "usage") << "no path auto";
}

/// The compute path shares its tables where the driver exports memory, and says why where it does not.
TEST(OperatorBench, SharesTablesOrSaysWhyNot) {
  auto request = small_join();
  request.mode = Mode::resident;
  request.paths = {Path::compute};
  request.share_tables = true;
  auto const outcomes = run_operator_bench(request);
  if (outcomes) {
    EXPECT_TRUE(outcomes->front().record.verified);
    EXPECT_TRUE(outcomes->front().record.host_time);
  } else {
    EXPECT_EQ(outcomes.error().code(), ErrorCode::no_device) << outcomes.error().describe();
    EXPECT_THAT(outcomes.error().describe(), HasSubstr("cannot share memory"));
  }
}

TEST(OperatorBench, EveryKindOfJoinOnADeviceIsVerified) {
  OperatorRequest request;
  auto& workload = request.workload.emplace<JoinWorkload>();
  workload.rows_left = 3'000;
  workload.rows_right = 5'000;
  workload.multiplicity = 2;
  workload.match_ratio = 0.5;
  request.repeat = 1;
  request.device = "0";
  request.memory = TableMemory::device;
  for (auto const kind :
       {JoinKind::left, JoinKind::right, JoinKind::full, JoinKind::semi, JoinKind::anti, JoinKind::mark})
    request.queries.push_back({kind, false});
  for (auto const kind : {JoinKind::inner, JoinKind::full, JoinKind::semi}) request.queries.push_back({kind, true});
  auto const outcomes = value_of(run_operator_bench(request));
  ASSERT_EQ(outcomes.size(), 10U);
  for (auto const& outcome : outcomes) {
    EXPECT_TRUE(outcome.record.verified) << outcome.record.op;
    EXPECT_EQ(outcome.record.mode, "resident");
    EXPECT_TRUE(outcome.record.host_time) << outcome.record.op;
    EXPECT_EQ(outcome.ratios.size(), &outcome == &outcomes.front() ? 0U : 1U);
  }
  EXPECT_EQ(outcomes[0].record.rows_out, 5'000U);
  EXPECT_EQ(outcomes[2].record.rows_out, 7'500U);  // right: those without a match besides
  EXPECT_EQ(outcomes[7].record.op, "inner join count");
}

TEST(OperatorBench, VerifiesNonEquiJoins) {
  for (auto const condition : {Matching::band, Matching::less})
    for (bool const counts : {false, true}) {
      OperatorRequest request;
      request.workload = NonEquiWorkload{300, 200, condition};
      request.queries = {{JoinKind::inner, counts}};
      request.paths = {Path::cpu};
      request.repeat = 1;
      auto const outcomes = value_of(run_operator_bench(request));
      EXPECT_TRUE(outcomes.front().record.verified);
      EXPECT_EQ(outcomes.front().record.op, counts ? "non-equi join count" : "non-equi join");
      EXPECT_EQ(outcomes.front().record.choices, to_string(condition));
      EXPECT_THAT(outcomes.front().notes, ::testing::Contains(HasSubstr("pairs of rows")));
    }
  OperatorRequest empty;
  empty.workload = NonEquiWorkload{};
  EXPECT_EQ(refusal(empty, [](auto&) {}), "usage");
}

TEST(OperatorBench, ReadsChoices) {
  auto const choices = value_of(parse_choices("compute:method=global;cuda;cpu:build=left,radix_bits=4"));
  ASSERT_EQ(choices.size(), 3U);
  EXPECT_EQ(choices[0].tuning, "method=global");
  EXPECT_EQ(choices[1].path, Path::cuda);
  EXPECT_EQ(choices[1].tuning, "");
  EXPECT_EQ(choices[2].tuning, "build=left,radix_bits=4");
  EXPECT_TRUE(value_of(parse_choices("")).empty());
  EXPECT_FALSE(parse_choices("compute;gpu"));
}

}  // namespace
}  // namespace garuda::bench
