#include "bench/workloads/reference_join.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "bench/workloads/generators.hpp"

namespace garuda::bench {
namespace {

using Columns = std::vector<std::vector<std::int32_t>>;

Schema schema_of(std::vector<std::string> const& names) {
  Schema schema;
  for (auto const& name : names) schema.push_back(Field{name, DataType{}, false});
  return schema;
}

Batch batch_of(Columns values) {
  auto owner = std::make_shared<Columns>(std::move(values));
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(owner->front().size());
  for (auto const& column : *owner) {
    ArrayView view;
    view.length = batch.num_rows;
    view.null_count = 0;
    view.values = column.data();
    batch.columns.push_back(view);
  }
  batch.owner = owner;
  return batch;
}

Table table_of(std::vector<std::string> const& names, Columns values) {
  std::vector<Batch> batches;
  batches.push_back(batch_of(std::move(values)));
  return Table(schema_of(names), std::move(batches));
}

class ReferenceJoinTest : public ::testing::Test {
 protected:
  Table left_ = table_of({"key", "l0"}, {{3, 1, 3, 9}, {30, 10, 31, 90}});
  Table right_ = table_of({"key", "r0"}, {{3, 7, 1}, {300, 700, 100}});
  ReferenceJoin reference_{left_.view(), right_.view()};
  Schema schema_ = schema_of({"key", "l0", "r0"});

  std::string outcome(Columns rows) const {
    std::vector<Batch> batches;
    batches.push_back(batch_of(std::move(rows)));
    auto const result = reference_.check(schema_, batches);
    return result ? "equal" : result.error().message();
  }
};

TEST_F(ReferenceJoinTest, AcceptsTheRowsInAnyOrderAndInBatches) {
  EXPECT_EQ(reference_.num_rows(), 3U);
  EXPECT_EQ(outcome({{3, 1, 3}, {31, 10, 30}, {300, 100, 300}}), "equal");
  std::vector<Batch> batches;
  batches.push_back(batch_of({{3}, {30}, {300}}));
  batches.push_back(batch_of({{}, {}, {}}));
  batches.push_back(batch_of({{1, 3}, {10, 31}, {100, 300}}));
  EXPECT_TRUE(reference_.check(schema_, batches).has_value());
}

TEST_F(ReferenceJoinTest, FindsEveryKindOfDifference) {
  EXPECT_NE(outcome({{3, 1, 3}, {31, 10, 31}, {300, 100, 300}}), "equal") << "a row twice instead of another";
  EXPECT_NE(outcome({{3, 1, 3}, {31, 10, 30}, {300, 300, 100}}), "equal") << "payloads of two rows swapped";
  EXPECT_NE(outcome({{3, 1, 3}, {31, 10, 30}, {300, 100, 301}}), "equal") << "one value off";
  EXPECT_NE(outcome({{3, 1}, {31, 10}, {300, 100}}), "equal") << "a row missing";
  EXPECT_NE(outcome({{3, 1, 3, 3}, {31, 10, 30, 30}, {300, 100, 300, 300}}), "equal") << "a row too many";
}

TEST_F(ReferenceJoinTest, FindsOtherColumnsAndNulls) {
  std::vector<Batch> batches;
  batches.push_back(batch_of({{3, 1, 3}, {31, 10, 30}, {300, 100, 300}}));
  EXPECT_FALSE(reference_.check(schema_of({"key", "l0", "r1"}), batches).has_value());
  EXPECT_FALSE(reference_.check(schema_of({"key", "l0"}), batches).has_value());
  std::uint8_t const validity = 0b110;
  batches[0].columns[1].validity = &validity;
  batches[0].columns[1].null_count = 1;
  EXPECT_FALSE(reference_.check(schema_, batches).has_value());
}

TEST_F(ReferenceJoinTest, KnowsEveryKind) {
  std::vector<std::uint64_t> rows;
  for (auto const kind :
       {JoinKind::left, JoinKind::right, JoinKind::full, JoinKind::semi, JoinKind::anti, JoinKind::mark})
    rows.push_back(reference_.num_rows(kind));
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{4, 4, 5, 3, 1, 4}));
  std::vector<Batch> batches;
  batches.push_back(batch_of({{3, 1, 3, 9, 7}, {31, 10, 30, 90, 0}, {300, 100, 300, 0, 700}}));
  std::uint8_t const left = 0b01111;
  std::uint8_t const right = 0b10111;
  batches[0].columns[1].validity = &left;
  batches[0].columns[2].validity = &right;
  EXPECT_TRUE(reference_.check(schema_, batches, JoinKind::full).has_value());
  EXPECT_FALSE(reference_.check(schema_, batches, JoinKind::left).has_value());
  batches[0].columns[2].validity = &left;
  EXPECT_FALSE(reference_.check(schema_, batches, JoinKind::full).has_value()) << "another value is null";
  std::vector<Batch> semi;
  semi.push_back(batch_of({{3, 1, 3}, {31, 10, 30}}));
  EXPECT_TRUE(reference_.check(schema_of({"key", "l0"}), semi, JoinKind::semi).has_value());
  EXPECT_FALSE(reference_.check(schema_of({"key", "l0"}), semi, JoinKind::anti).has_value());
  semi[0] = batch_of({{3, 1, 3, 9}, {31, 10, 30, 90}, {}});
  auto schema = schema_of({"key", "l0", "mark"});
  schema.back().type.id = TypeId::boolean;
  std::uint8_t const marks = 0b0111;
  semi[0].columns[2].values = &marks;
  semi[0].columns[2].length = 4;
  EXPECT_TRUE(reference_.check(schema, semi, JoinKind::mark).has_value());
}

TEST(ReferenceJoin, MatchesByRanges) {
  auto const left = table_of({"a", "x"}, {{5, 1, 9}, {0, 1, 2}});
  auto const right = table_of({"lo", "hi", "y"}, {{1, 6, 9}, {5, 8, 9}, {0, 1, 2}});
  ReferenceJoin const band(left.view(), right.view(), Matching::band);
  EXPECT_EQ(band.num_rows(), 3U);
  std::vector<Batch> batches;
  batches.push_back(batch_of({{5, 1, 9}, {0, 1, 2}, {1, 1, 9}, {5, 5, 9}, {0, 0, 2}}));
  EXPECT_TRUE(band.check(schema_of({"a", "x", "lo", "hi", "y"}), batches).has_value());
  EXPECT_EQ(ReferenceJoin(left.view(), right.view(), Matching::less).num_rows(), 4U);
}

TEST(ReferenceJoin, HandlesEmptyResults) {
  auto const left = table_of({"key"}, {{}});
  auto const right = table_of({"key"}, {{1, 2}});
  ReferenceJoin const reference(left.view(), right.view());
  EXPECT_EQ(reference.num_rows(), 0U);
  EXPECT_TRUE(reference.check(schema_of({"key"}), {}).has_value());
}

TEST(ReferenceJoin, CountsWhatTheGeneratorsPromise) {
  JoinWorkload workload;
  workload.rows_left = 1000;
  workload.rows_right = 5000;
  workload.multiplicity = 4;
  workload.match_ratio = 0.5;
  workload.key_type = KeyType::i64;
  workload.distribution = {KeyDistribution::Kind::zipf, 1.0};
  auto const tables = generate_join_tables(workload).value();
  EXPECT_EQ(ReferenceJoin(tables.left.view(), tables.right.view()).num_rows(), 10'000U);
  EXPECT_EQ(max_result_rows(workload), 10'000U);
}

TEST(RowDigest, SeesPositionAndMultiplicity) {
  std::vector<std::int64_t> const a{1, 2};
  std::vector<std::int64_t> const b{2, 1};
  RowDigest first;
  first.add(a);
  RowDigest second;
  second.add(b);
  EXPECT_NE(first, second);
  RowDigest twice = first;
  twice.add(first);
  RowDigest both = first;
  both.add(second);
  EXPECT_EQ(twice.rows, 2U);
  EXPECT_NE(twice, both);
}

}  // namespace
}  // namespace garuda::bench
