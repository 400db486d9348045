#include "bench/parts/parts.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::bench {
namespace {

PartitionRequest small_request() {
  PartitionRequest request;
  request.rows = 10'007;
  request.bits = 5;
  request.threads = {2};
  request.repeat = 3;
  return request;
}

// The bench compares every result with a stable partitioning by itself, so that here its figures are left.
TEST(PartitionBench, CountsTheBytesThatMove) {
  struct Case {
    KeyType key_type;
    std::uint32_t payload;
    bool mixed;
    std::vector<std::uint64_t> bytes;  // a row: row ids made, stored
  };
  // Keys three times, row ids once or twice, payload twice.
  for (auto const& c : {Case{KeyType::i32, 0, false, {16, 20}}, Case{KeyType::i32, 1, true, {24, 28}},
                        Case{KeyType::i64, 2, false, {24 + 4 + 32, 24 + 8 + 32}}}) {
    auto request = small_request();
    request.key_type = c.key_type;
    request.payload = c.payload;
    request.mixed = c.mixed;
    auto const outcomes = run_partition_bench(request);
    ASSERT_TRUE(outcomes) << outcomes.error().message();
    ASSERT_EQ(outcomes->size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      auto const& outcome = (*outcomes)[i];
      EXPECT_EQ(outcome.record.bytes, request.rows * c.bytes[i]);
      EXPECT_EQ(outcome.record.rows_out, request.rows);
      EXPECT_TRUE(outcome.record.verified);
      ASSERT_EQ(outcome.ratios.size(), 1U);
      EXPECT_GT(outcome.ratios.front().second.median, 0);
      auto const* const row_ids = i == 0 ? "row ids made" : "row ids stored";
      EXPECT_NE(outcome.record.choices.find(row_ids), std::string::npos) << outcome.record.choices;
      EXPECT_NE(to_json_line(outcome.record).find(row_ids), std::string::npos);
    }
  }
}

TEST(PartitionBench, MeasuresEveryNumberOfThreads) {
  auto request = small_request();
  request.threads = {1, 2};
  request.row_ids = {RowIds::stored};
  auto const outcomes = run_partition_bench(request);
  ASSERT_TRUE(outcomes) << outcomes.error().message();
  EXPECT_EQ(outcomes->size(), 2U);
}

TEST(PartitionBench, RefusesWhatItCannotMeasure) {
  auto const refused = [](auto const& change) {
    auto request = small_request();
    change(request);
    auto const outcomes = run_partition_bench(request);
    return !outcomes && outcomes.error().code() == ErrorCode::usage;
  };
  EXPECT_TRUE(refused([](auto& r) { r.rows = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.repeat = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.threads.clear(); }));
  EXPECT_TRUE(refused([](auto& r) { r.row_ids.clear(); }));
  EXPECT_TRUE(refused([](auto& r) { r.bits = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.bits = 17; }));
  EXPECT_TRUE(refused([](auto& r) { r.instructions = "mmx"; }));
  EXPECT_FALSE(parse_row_ids("none"));
  EXPECT_EQ(parse_row_ids("stored").value(), RowIds::stored);
}

TEST(PartitionBench, StopsWhenCancelled) {
  std::atomic<bool> const cancelled{true};
  auto request = small_request();
  request.cancelled = &cancelled;
  auto const outcomes = run_partition_bench(request);
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::bench
