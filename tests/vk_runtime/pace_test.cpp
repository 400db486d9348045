// How much goes into a submission, by what earlier ones took.
#include "vk_runtime/device/device.hpp"

#include <gtest/gtest.h>

#include "tests/vk_runtime/fake_traits.hpp"

namespace garuda::vk {
namespace {

constexpr std::uint64_t kPoints = 1'000'000;

TEST(Pace, BeginsWithAQuarterOfWhatIsAssumedOfTheType) {
  auto const traits = usable_traits("gpu", DeviceType::discrete);
  Pace const pace(traits);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", traits.max_points_per_submission / 4), pace.aim_ns());
  EXPECT_DOUBLE_EQ(pace.aim_ns(), 50e6);
  EXPECT_GT(Pace(usable_traits("cpu", DeviceType::cpu)).aim_ns(), pace.aim_ns());
}

TEST(Pace, TheFirstTimeSaysHowFarThatWasTooCareful) {
  auto const traits = usable_traits("gpu", DeviceType::integrated);
  auto const assumed = 50e6 / static_cast<double>(traits.max_points_per_submission) * kPoints;
  Pace pace(traits);
  auto const unseen = pace.expected_ns("build", kPoints);
  EXPECT_DOUBLE_EQ(unseen, 4 * assumed);
  pace.took("slower", kPoints, static_cast<std::uint64_t>(2 * unseen), ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("slower", kPoints), unseen) << "compiled, maybe";
  pace.took("slow", kPoints, 20'000'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("slow", kPoints), 20e6);
  pace.took("fast", kPoints, 2'000'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("fast", kPoints), assumed);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), unseen);
}

TEST(Pace, ASlowerPhaseHoldsOnceSeenTwiceAFasterOneByAndBy) {
  Pace pace(usable_traits("gpu", DeviceType::integrated));
  pace.took("build", kPoints, 20'000'000, ClockSource::host);
  pace.took("build", kPoints, 60'000'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 20e6) << "something else was in the way, maybe";
  pace.took("build", kPoints, 40'000'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 40e6);
  pace.took("build", kPoints, 8'000'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 32e6);
  for (int i = 0; i < 50; ++i) pace.took("build", kPoints, 8'000'000, ClockSource::host);
  EXPECT_NEAR(pace.expected_ns("build", kPoints), 8e6, 1e4);
}

TEST(Pace, TheDevicesOwnClockIsBelievedAtOnce) {
  Pace pace(usable_traits("gpu", DeviceType::integrated));
  pace.took("build", kPoints, 20'000'000, ClockSource::device);
  pace.took("build", kPoints, 60'000'000, ClockSource::device);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 60e6);
  pace.took("build", kPoints, 20'000'000, ClockSource::device);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 50e6);
}

TEST(Pace, WhatSaysLittleIsNotBelieved) {
  Pace pace(usable_traits("gpu", DeviceType::integrated));
  auto const unseen = pace.expected_ns("build", kPoints);
  pace.took("build", 1, 999'999, ClockSource::host);
  pace.took("build", 0, 50'000'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), unseen);
  for (int i = 0; i < 3; ++i) pace.took("build", 1, 2'000'000, ClockSource::host);  // few points and much else
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 8 * unseen);
}

TEST(Pace, ManyPointsInNoTimeSayThatTheyTakeNoLonger) {
  auto const traits = usable_traits("gpu", DeviceType::discrete);
  Pace pace(traits);
  auto const points = traits.max_points_per_submission;
  EXPECT_GT(pace.expected_ns("aggregate", points), pace.aim_ns());
  pace.took("aggregate", points, 400'000, ClockSource::host);
  EXPECT_DOUBLE_EQ(pace.expected_ns("aggregate", points), pace.aim_ns());
  for (int i = 0; i < 50; ++i) pace.took("aggregate", points, 400'000, ClockSource::host);
  EXPECT_LT(pace.expected_ns("aggregate", points), pace.aim_ns() / 8);
  EXPECT_GE(pace.expected_ns("aggregate", points), 1e6);
}

TEST(Pace, TheLongestSubmissionIsKeptWithItsPhases) {
  constexpr std::int64_t kLong = std::int64_t{1} << 50;  // longer than any that this process ran
  Pace::submission_took({"build+count", kLong, false});
  Pace::submission_took({"probe", kLong - 1, false});
  Pace::submission_took({std::string(1000, 'x'), kLong + 1, true});
  EXPECT_EQ(longest_submissions().usual.phases, "build+count");
  EXPECT_EQ(longest_submissions().usual.ns, kLong);
  EXPECT_EQ(longest_submissions().compiling.phases, std::string(127, 'x'));
}

}  // namespace
}  // namespace garuda::vk
