// How work is cut into submissions, without any.
#include "operators/vulkan/pass_context.hpp"

#include <gtest/gtest.h>

#include "tests/engine/counters.hpp"
#include "tests/graphics/graphics_problem.hpp"

namespace garuda::graphics {
namespace {

class SubmissionsTest : public testing::GraphicsKernelTest {
 protected:
  void SetUp() override {
    testing::GraphicsKernelTest::SetUp();
    lane_ = vk::Lane::create(device(), {}).value();
  }
  void TearDown() override {
    lane_.reset();
    testing::GraphicsKernelTest::TearDown();
  }
  std::unique_ptr<vk::Lane> lane_;
  testing::Counters counters_;
};

/// The cost of points depends on the rows as well, so each query measures it by a short submission.
TEST_F(SubmissionsTest, TheFirstPartOfAPhaseIsShortAndMeasured) {
  constexpr char const* kPhase = "of this test";
  auto const& pace = device().pace();
  auto const points = static_cast<std::uint64_t>(0.2 * pace.aim_ns() / pace.expected_ns(kPhase, 1));
  {
    vulkan::Submissions submissions(*lane_, nullptr, &counters_);
    for (std::uint64_t const expected : {0U, 1U}) {
      ASSERT_TRUE(submissions.record(kPhase, points));
      EXPECT_EQ(counters_.value("submissions"), expected);
    }
    // It took no time, and the next ones may be of four times its length and more.
    ASSERT_LT(pace.expected_ns(kPhase, points), 0.1 * pace.aim_ns());
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(submissions.record(kPhase, points));
    EXPECT_EQ(counters_.value("submissions"), 1U);
    ASSERT_TRUE(submissions.finish());
    EXPECT_EQ(counters_.value("submissions"), 2U);
  }
  vulkan::Submissions submissions(*lane_, nullptr, &counters_);
  auto const first_part = static_cast<std::uint64_t>(0.25 * pace.aim_ns() / pace.expected_ns(kPhase, 1));
  ASSERT_TRUE(submissions.record(kPhase, first_part));
  ASSERT_TRUE(submissions.record(kPhase, 1 + first_part / 100));
  EXPECT_EQ(counters_.value("submissions"), 3U);
  ASSERT_TRUE(submissions.finish());
}

/// An empty part would be measured as if it were not, and leave the driver's compiling to the next.
TEST_F(SubmissionsTest, NoPartIsWithoutAWorkgroup) {
  constexpr char const* kPhase = "of few groups";
  auto const& pace = device().pace();
  auto const points = static_cast<std::uint64_t>(20 * pace.aim_ns() / pace.expected_ns(kPhase, 1));
  vulkan::Submissions const submissions(*lane_, nullptr, &counters_);
  EXPECT_GT(submissions.parts_of(kPhase, points), 8U);
  for (std::uint64_t const groups : {1, 3, 8}) EXPECT_EQ(submissions.parts_of(kPhase, points, groups), groups);
}

}  // namespace
}  // namespace garuda::graphics
