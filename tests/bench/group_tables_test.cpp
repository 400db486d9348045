#include "bench/workloads/group_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "garuda/engine.hpp"

namespace garuda::bench {
namespace {

TEST(ReferenceGroups, RefusesAWrongResult) {
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

TEST(GroupTables, ZipfHasOneHotGroup) {
  GroupWorkload workload;
  workload.rows = 4000;
  workload.groups = 50;
  workload.distribution = {KeyDistribution::Kind::zipf, 1.5};
  auto const table = generate_group_table(workload);
  ASSERT_TRUE(table);
  std::vector<std::uint64_t> rows(workload.groups);
  auto const& groups = table->batches()[0].columns[0];
  for (std::int64_t row = 0; row < groups.length; ++row)
    ++rows[static_cast<std::size_t>(groups.data<std::int32_t>()[row])];
  EXPECT_GT(*std::max_element(rows.begin(), rows.end()), workload.rows / 4);
}

}  // namespace
}  // namespace garuda::bench
