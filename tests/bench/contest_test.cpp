#include "bench/gpu/contest.hpp"

#include <gtest/gtest.h>

#include <string>

namespace garuda::bench {
namespace {

/// A contender that writes its name into a log whenever it runs, and fails in its `failing`th run.
Contender named(std::string& log, char name, int failing = -1) {
  Contender contender;
  contender.verify = [&log, name](Outcome&) -> Result<void> {
    log += name;
    return {};
  };
  contender.timed.run = [&log, name, failing, runs = 0]() mutable -> Result<Sample> {
    if (runs++ == failing) return fail(ErrorCode::device_failure, "lost");
    log += name;
    return Sample{static_cast<std::uint64_t>(10 * runs), 0, {}, {}};
  };
  return contender;
}

TEST(Contest, VerifiesAllThenLetsThemTakeTurns) {
  std::string log;
  std::vector<Contender> contenders{named(log, 'a'), named(log, 'b')};
  contenders[0].before.push_back({[&] {
                                    log += '<';
                                    return Result<Sample>(Sample{});
                                  },
                                  {}});
  contenders[1].after.push_back({[&] {
                                   log += '>';
                                   return Result<Sample>(Sample{});
                                 },
                                 {}});
  Sampling sampling;
  sampling.repeat = 2;
  ASSERT_TRUE(measure(contenders, sampling));
  EXPECT_EQ(log, "ab<ab><ab>");
  for (auto const& contender : contenders) {
    EXPECT_TRUE(contender.outcome.record.verified);
    EXPECT_EQ(contender.outcome.record.samples_ns, (std::vector<std::uint64_t>{10, 20}));
    EXPECT_FALSE(contender.outcome.record.host_time);
  }
}

TEST(Contest, TakesThreeTurnsOfThoseThatTakeTooLong) {
  std::string log;
  std::vector<Contender> contenders{named(log, 'a')};
  Sampling sampling;
  sampling.most_ns = 1;
  ASSERT_TRUE(measure(contenders, sampling));
  EXPECT_EQ(contenders[0].outcome.record.time.samples, 3U);
}

TEST(Contest, OneThatFailsEndsAllOrLeavesTheOthers) {
  std::string log;
  std::vector<Contender> stopped{named(log, 'a', 0), named(log, 'b')};
  Sampling sampling;
  sampling.repeat = 2;
  EXPECT_EQ(measure(stopped, sampling).error().code(), ErrorCode::device_failure);
  EXPECT_EQ(log, "ab");
  log.clear();
  std::vector<Contender> left{named(log, 'a', 1), named(log, 'b')};
  ASSERT_TRUE(measure(left, sampling, OnFailure::go_on));
  EXPECT_EQ(log, "ababb");
  auto const outcomes = outcomes_of(std::move(left));
  EXPECT_FALSE(outcomes[0]);
  ASSERT_TRUE(outcomes[1]);
  EXPECT_EQ(outcomes[1]->record.time.samples, 2U);
}

TEST(Contest, StopsWhenCancelled) {
  std::string log;
  std::vector<Contender> contenders{named(log, 'a')};
  std::atomic<bool> const cancelled{true};
  Sampling sampling;
  sampling.cancelled = &cancelled;
  EXPECT_EQ(measure(contenders, sampling, OnFailure::go_on).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(log, "a");
}

}  // namespace
}  // namespace garuda::bench
