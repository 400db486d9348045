#include "bench/workloads/generators.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace garuda::bench {
namespace {

using Kind = KeyDistribution::Kind;

template <class T>
std::vector<T> values(Table const& table, std::size_t column) {
  auto const& array = table.batches()[0].columns[column];
  return {array.data<T>(), array.data<T>() + array.length};
}

std::map<std::int64_t, std::uint64_t> histogram(Table const& table, KeyType type) {
  std::map<std::int64_t, std::uint64_t> counts;
  if (type == KeyType::i32) {
    for (auto const key : values<std::int32_t>(table, 0)) ++counts[key];
  } else {
    for (auto const key : values<std::int64_t>(table, 0)) ++counts[key];
  }
  return counts;
}

TEST(Generators, DenseKeysAreEachOnceAndEachDrawnEquallyOften) {
  JoinWorkload workload;
  workload.rows_left = 1000;
  workload.rows_right = 3500;
  auto const tables = generate_join_tables(workload).value();
  auto const left = histogram(tables.left, KeyType::i32);
  ASSERT_EQ(left.size(), 1000U);
  EXPECT_EQ(left.begin()->first, 0);
  EXPECT_EQ(left.rbegin()->first, 999);
  auto const right = histogram(tables.right, KeyType::i32);
  ASSERT_EQ(right.size(), 1000U);
  for (auto const& [key, count] : right) {
    EXPECT_TRUE(count == 3 || count == 4) << key;
    EXPECT_TRUE(left.count(key)) << key;
  }
  EXPECT_FALSE(std::ranges::is_sorted(values<std::int32_t>(tables.left, 0)));
}

TEST(Generators, EqualDenseSidesAreUniqueOnBoth) {
  JoinWorkload workload;
  workload.rows_left = workload.rows_right = 4096;
  auto const tables = generate_join_tables(workload).value();
  EXPECT_EQ(histogram(tables.right, KeyType::i32).size(), 4096U);
  EXPECT_NE(values<std::int32_t>(tables.left, 0), values<std::int32_t>(tables.right, 0));
}

TEST(Generators, MultiplicityRepeatsLeftKeys) {
  JoinWorkload workload;
  workload.rows_left = 1001;
  workload.rows_right = 10;
  workload.multiplicity = 5;
  auto const left = histogram(generate_join_tables(workload).value().left, KeyType::i32);
  ASSERT_EQ(left.size(), 201U);
  for (auto const& [key, count] : left) EXPECT_TRUE(count == 5 || count == 4) << key;
}

TEST(Generators, MatchRatioIsExactForEveryDistribution) {
  for (auto const type : {KeyType::i32, KeyType::i64}) {
    for (auto const distribution :
         {KeyDistribution{Kind::dense, 0}, KeyDistribution{Kind::uniform, 0}, KeyDistribution{Kind::zipf, 1.0}}) {
      for (auto const& [ratio, expected] : {std::pair{0.0, 0U}, std::pair{0.03, 60U}, std::pair{1.0, 2000U}}) {
        JoinWorkload workload;
        workload.rows_left = 300;
        workload.rows_right = 2000;
        workload.key_type = type;
        workload.distribution = distribution;
        workload.match_ratio = ratio;
        auto const tables = generate_join_tables(workload).value();
        auto const left = histogram(tables.left, type);
        EXPECT_EQ(left.size(), 300U);
        std::uint64_t matched = 0;
        for (auto const& [key, count] : histogram(tables.right, type)) matched += left.count(key) ? count : 0;
        EXPECT_EQ(matched, expected) << to_string(distribution) << " " << to_string(type) << " " << ratio;
      }
    }
  }
}

TEST(Generators, UniformKeysSpreadOverTheWholeType) {
  for (auto const type : {KeyType::i32, KeyType::i64}) {
    JoinWorkload workload;
    workload.rows_left = 4000;
    workload.distribution = {Kind::uniform, 0};
    workload.key_type = type;
    auto const left = histogram(generate_join_tables(workload).value().left, type);
    auto const max = type == KeyType::i32 ? 0x7fffffffLL : 0x7fffffffffffffffLL;
    EXPECT_LT(left.begin()->first, -max / 100 * 99);
    EXPECT_GT(left.rbegin()->first, max / 100 * 99);
  }
}

TEST(Generators, ZipfSkewsTheRightSide) {
  JoinWorkload workload;
  workload.rows_left = 1000;
  workload.rows_right = 100'000;
  workload.distribution = {Kind::zipf, 1.0};
  auto const tables = generate_join_tables(workload).value();
  EXPECT_EQ(histogram(tables.left, KeyType::i32).size(), 1000U);
  auto const right = histogram(tables.right, KeyType::i32);
  auto const hottest = std::ranges::max_element(right, {}, [](auto const& entry) { return entry.second; });
  // 1 / H(1000) = 13.4 % of the draws.
  EXPECT_NEAR(static_cast<double>(hottest->second), 13'360, 500);
}

TEST(Generators, DataDependsOnTheSeedAndNotOnTheThreads) {
  JoinWorkload workload;
  workload.rows_left = 100'000;
  workload.rows_right = 100'000;
  workload.distribution = {Kind::zipf, 0.8};
  workload.key_type = KeyType::i64;
  auto const many = generate_join_tables(workload).value();
  {
    tbb::global_control const one(tbb::global_control::max_allowed_parallelism, 1);
    auto const single = generate_join_tables(workload).value();
    for (std::size_t column = 0; column < 2; ++column) {
      EXPECT_EQ(values<std::int64_t>(many.left, column), values<std::int64_t>(single.left, column));
      EXPECT_EQ(values<std::int64_t>(many.right, column), values<std::int64_t>(single.right, column));
    }
  }
  workload.seed = 2;
  auto const other = generate_join_tables(workload).value();
  EXPECT_NE(values<std::int64_t>(many.left, 0), values<std::int64_t>(other.left, 0));
  EXPECT_NE(values<std::int64_t>(many.right, 1), values<std::int64_t>(other.right, 1));
}

TEST(Generators, PayloadsAreColumnsOfTheKeyTypeThatDiffer) {
  JoinWorkload workload;
  workload.rows_left = 100;
  workload.rows_right = 50;
  workload.payload_left = 2;
  workload.payload_right = 0;
  auto const tables = generate_join_tables(workload).value();
  ASSERT_EQ(tables.left.schema().size(), 3U);
  EXPECT_EQ(tables.left.schema()[0].name, "key");
  EXPECT_EQ(tables.left.schema()[2].name, "l1");
  EXPECT_EQ(tables.left.schema()[2].type.id, TypeId::int32);
  EXPECT_NE(values<std::int32_t>(tables.left, 1), values<std::int32_t>(tables.left, 2));
  ASSERT_EQ(tables.right.schema().size(), 1U);
  EXPECT_EQ(tables.right.num_rows(), 50);
}

TEST(Generators, EmptySides) {
  JoinWorkload workload;
  workload.rows_right = 10;
  auto const no_left = generate_join_tables(workload).value();
  EXPECT_EQ(no_left.left.num_rows(), 0);
  EXPECT_EQ(no_left.right.num_rows(), 10);
  workload.rows_left = 10;
  workload.rows_right = 0;
  EXPECT_EQ(generate_join_tables(workload).value().right.num_rows(), 0);
}

TEST(Generators, RefusesImpossibleRequests) {
  JoinWorkload workload;
  workload.rows_left = 10;
  workload.rows_right = 10;
  auto bad = workload;
  bad.match_ratio = 1.5;
  EXPECT_EQ(generate_join_tables(bad).error().code(), ErrorCode::usage);
  bad = workload;
  bad.multiplicity = 0;
  EXPECT_EQ(generate_join_tables(bad).error().code(), ErrorCode::usage);
  bad = workload;
  bad.rows_left = (std::uint64_t{1} << 31) + 1;
  EXPECT_EQ(generate_join_tables(bad).error().code(), ErrorCode::usage);
  bad.rows_left = (std::uint64_t{1} << 30) + 1;
  bad.match_ratio = 0.5;
  EXPECT_EQ(generate_join_tables(bad).error().code(), ErrorCode::usage);
}

TEST(Generators, ParsesDistributions) {
  EXPECT_EQ(parse_key_distribution("dense").value(), (KeyDistribution{Kind::dense, 0}));
  EXPECT_EQ(parse_key_distribution("zipf:1.0").value(), (KeyDistribution{Kind::zipf, 1.0}));
  EXPECT_EQ(to_string(parse_key_distribution("zipf:0.75").value()), "zipf:0.75");
  for (auto const* text : {"", "zipf", "zipf:", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:1x", "Dense"})
    EXPECT_EQ(parse_key_distribution(text).error().code(), ErrorCode::usage) << text;
  EXPECT_EQ(parse_key_type("i64").value(), KeyType::i64);
  EXPECT_EQ(parse_key_type("u8").error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::bench
