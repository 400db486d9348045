// How much goes into a submission, by what earlier ones took.
#include "vk_runtime/pace.hpp"

#include <gtest/gtest.h>

#include "tests/vk_runtime/fake_traits.hpp"

namespace garuda::vk {
namespace {

constexpr std::uint64_t kPoints = 1'000'000;

TEST(Pace, BeginsWithWhatIsAssumedOfTheType) {
  auto const traits = usable_traits("gpu", DeviceType::discrete);
  Pace const pace(traits);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", traits.max_points_per_submission), pace.aim_ns());
  EXPECT_DOUBLE_EQ(pace.aim_ns(), 50e6);
  EXPECT_GT(Pace(usable_traits("cpu", DeviceType::cpu)).aim_ns(), pace.aim_ns());
}

TEST(Pace, ASlowerPhaseHoldsOnceSeenTwiceAFasterOneByAndBy) {
  Pace pace(usable_traits("gpu", DeviceType::integrated));
  auto const other = pace.expected_ns("probe", kPoints);
  pace.took("build", kPoints, 60'000'000);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), other) << "compiled, maybe";
  pace.took("build", kPoints, 40'000'000);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 40e6);
  EXPECT_DOUBLE_EQ(pace.expected_ns("probe", kPoints), other);
  pace.took("build", kPoints, 8'000'000);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 32e6);
  for (int i = 0; i < 50; ++i) pace.took("build", kPoints, 8'000'000);
  EXPECT_NEAR(pace.expected_ns("build", kPoints), 8e6, 1e4);
}

TEST(Pace, WhatSaysLittleIsNotBelieved) {
  Pace pace(usable_traits("gpu", DeviceType::integrated));
  auto const assumed = pace.expected_ns("build", kPoints);
  pace.took("build", 1, 999'999);
  pace.took("build", 0, 50'000'000);
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), assumed);
  for (int i = 0; i < 2; ++i) pace.took("build", 1, 2'000'000);  // few points and much else
  EXPECT_DOUBLE_EQ(pace.expected_ns("build", kPoints), 32 * assumed);
}

}  // namespace
}  // namespace garuda::vk
