// `garuda bench kinds`: what it times is verified, kind by kind.
#include "bench/kinds_bench.hpp"

#include <gtest/gtest.h>

namespace garuda::bench {
namespace {

TEST(KindsBench, EveryKindIsVerified) {
  KindsRequest request;
  request.workload.rows_left = 3'000;
  request.workload.rows_right = 5'000;
  request.workload.multiplicity = 2;
  request.workload.match_ratio = 0.5;
  request.repeat = 1;
  request.device = "0";
  auto const outcomes = run_kinds_bench(request);
  ASSERT_TRUE(outcomes) << outcomes.error().describe();
  ASSERT_EQ(outcomes->size(), 10U);
  for (auto const& outcome : *outcomes) {
    EXPECT_TRUE(outcome.record.verified) << outcome.record.op;
    EXPECT_EQ(outcome.record.mode, "resident");
  }
  EXPECT_EQ((*outcomes)[0].record.rows_out, 5'000U);
  EXPECT_EQ((*outcomes)[2].record.rows_out, 7'500U);  // right: those without a match besides
  EXPECT_EQ((*outcomes)[7].record.op, "inner join count");
}

TEST(KindsBench, RefusesWhatCannotBeGenerated) {
  KindsRequest request;
  request.workload.match_ratio = 2;
  auto const refused = run_kinds_bench(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::bench
