#include "bench/parts/parts.hpp"

#include <gtest/gtest.h>

#include "tests/unwrap.hpp"

namespace garuda::bench {
namespace {

using testing::value_of;

TEST(HistogramBench, CountsByBlendingAndByAtomics) {
  HistogramRequest request;
  request.rows = 5'000;
  request.bins = 1'024;
  request.paths = {Path::graphics, Path::compute};
  request.repeat = 1;
  auto const outcomes = value_of(run_histogram_bench(request));
  ASSERT_GE(outcomes.size(), 2U);
  EXPECT_EQ(outcomes.front().record.path, "graphics");
  EXPECT_EQ(outcomes.back().record.path, "compute");
  for (auto const& outcome : outcomes) {
    EXPECT_TRUE(outcome.record.verified);
    EXPECT_EQ(outcome.record.time.samples, 1U);
    EXPECT_FALSE(outcome.notes.front().empty());
  }
}

TEST(HistogramBench, RefusesWhatItCannotCount) {
  for (auto const bins : {std::uint64_t{0}, std::uint64_t{1'000}, std::uint64_t{1} << 31}) {
    HistogramRequest request;
    request.bins = bins;
    auto const refused = run_histogram_bench(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::usage);
  }
}

}  // namespace
}  // namespace garuda::bench
