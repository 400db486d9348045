#include "bench/group_by_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/group_tables.hpp"
#include "garuda/engine.hpp"

namespace garuda::bench {
namespace {

GroupByBenchRequest small_request(ValueType type) {
  GroupByBenchRequest request;
  request.workload.rows = 3000;
  request.workload.groups = 100;
  request.workload.keys = 3;
  request.workload.value_type = type;
  request.functions = {AggregateFunction::count, AggregateFunction::sum, AggregateFunction::min, AggregateFunction::max,
                       AggregateFunction::mean};
  request.paths = {Path::cpu};
  request.repeat = 3;
  return request;
}

TEST(GroupByBench, VerifiesAndTimesEveryValueType) {
  for (auto const type : {ValueType::i32, ValueType::i64, ValueType::f64}) {
    auto const outcomes = run_group_by_bench(small_request(type));
    ASSERT_TRUE(outcomes) << outcomes.error().describe();
    auto const& record = outcomes->front().record;
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

TEST(GroupByBench, TheReferenceRefusesAWrongResult) {
  GroupWorkload workload;
  workload.rows = 500;
  workload.groups = 7;
  auto const table = generate_group_table(workload);
  auto other_workload = workload;
  other_workload.seed = 2;
  auto const other = generate_group_table(other_workload);
  ASSERT_TRUE(table && other);
  ReferenceGroups const reference(*table, workload);
  auto engine = Engine::create({.vulkan = false});
  ASSERT_TRUE(engine);
  for (auto const function : {AggregateFunction::count, AggregateFunction::sum, AggregateFunction::min,
                              AggregateFunction::max, AggregateFunction::mean}) {
    std::vector<Aggregate> const aggregates{{function, "v", std::nullopt}};
    auto const check = [&](Table const& grouped) {
      auto const result = engine->group_by(grouped.view(), {{"k0"}, aggregates, false});
      std::vector<Batch> batches;
      while (auto batch = *(*result)->next()) batches.push_back(std::move(*batch));
      return reference.check(aggregates, batches);
    };
    EXPECT_TRUE(check(*table));
    EXPECT_FALSE(check(*other)) << to_string(function);
  }
}

TEST(GroupByBench, ZipfHasOneHotGroup) {
  GroupWorkload workload;
  workload.rows = 4000;
  workload.groups = 50;
  workload.distribution = {KeyDistribution::Kind::zipf, 1.5};
  auto const table = generate_group_table(workload);
  ASSERT_TRUE(table);
  std::vector<std::uint64_t> rows(workload.groups);
  for (auto const group : groups_of(*table)) ++rows[group];
  EXPECT_GT(*std::max_element(rows.begin(), rows.end()), workload.rows / 4);
}

TEST(GroupByBench, RefusesWhatMakesNoSense) {
  auto const error_of = [](auto change) {
    auto request = small_request(ValueType::i64);
    change(request);
    auto const outcomes = run_group_by_bench(request);
    return outcomes ? std::string("none") : std::string(to_string(outcomes.error().code()));
  };
  EXPECT_EQ(error_of([](auto& request) { request.workload.groups = 0; }), "usage");
  EXPECT_EQ(error_of([](auto& request) { request.workload.keys = 0; }), "usage");
  EXPECT_EQ(error_of([](auto& request) { request.repeat = 0; }), "usage");
  EXPECT_EQ(error_of([](auto& request) { request.floor = true; }), "usage");
  EXPECT_EQ(error_of([](auto& request) { request.workload.distribution.kind = KeyDistribution::Kind::dense; }),
            "usage");
}

}  // namespace
}  // namespace garuda::bench
