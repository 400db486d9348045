// Calibration that nobody asked for runs once, in one process at a time, beside no query, not for long.
#include "operators/calibrate/background_calibration.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/vk_runtime/scratch_folder.hpp"

namespace garuda::calibrate {
namespace {

using namespace std::chrono_literals;

class BackgroundCalibrationTest : public ::testing::Test {
 protected:
  Result<void> measure(std::vector<Measurement> const& measurements) {
    return measure_missing(folder_.path(), measurements, nullptr, [] {});
  }

  /// Succeeds at once.
  Measurement counted(std::string file) {
    return {std::move(file), [this](MeasuringTime&) -> Result<void> {
              ++measured_;
              return {};
            }};
  }

  vk::ScratchFolder folder_;
  std::atomic<int> measured_{0};
};

TEST_F(BackgroundCalibrationTest, MeasuresAll) {
  ASSERT_TRUE(measure({counted("a"), counted("b")}));
  EXPECT_EQ(measured_, 2);
}

TEST_F(BackgroundCalibrationTest, LeavesItToTheProcessThatMeasures) {
  // Another descriptor of the file is as another process's.
  auto const other = MeasuringLock::take(folder_.path());
  ASSERT_TRUE(other);
  EXPECT_FALSE(MeasuringLock::take(folder_.path()));
  ASSERT_TRUE(measure({counted("a")}));
  EXPECT_EQ(measured_, 0);
}

TEST_F(BackgroundCalibrationTest, NothingWhereNothingCanBeKept) {
  // Where a file is there is no folder; that holds for root, too.
  auto const file = folder_.path() / "file";
  ASSERT_TRUE(MeasuringLock::take(folder_.path()));
  std::filesystem::copy_file(folder_.path() / "measuring.lock", file);
  ASSERT_TRUE(measure_missing(file, {counted("a")}, nullptr, [] {}));
  EXPECT_EQ(measured_, 0);
}

TEST_F(BackgroundCalibrationTest, AFailureIsNotTriedAgainForADay) {
  Measurement const failing{"a", [this](MeasuringTime&) -> Result<void> {
                              ++measured_;
                              return fail(ErrorCode::device_failure, "it broke");
                            }};
  auto const first = measure({failing});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().message(), "it broke");
  ASSERT_TRUE(measure({failing, counted("b")}));
  EXPECT_EQ(measured_, 2) << "b alone";
  auto const mark = folder_.path() / "a.failed";
  std::filesystem::last_write_time(mark, std::filesystem::last_write_time(mark) - 25h);
  EXPECT_FALSE(measure({failing}));
}

TEST_F(BackgroundCalibrationTest, WhatTakesTooLongIsGivenUpWithinARate) {
  int runs = 0;
  Measurement const slow{
      "a", [&](MeasuringTime& time) -> Result<void> {
        time.report("one rate");
        GARUDA_TRY(measure_rate(1, std::uint64_t{1} << 40, time, 0.5, [&](std::uint64_t) -> Result<std::uint64_t> {
          ++runs;
          std::this_thread::sleep_for(20ms);
          return 1;  // never enough to be trusted
        }));
        return {};
      }};
  // What comes before a rate takes as long as all rates may, and does not count.
  auto const result = measure_missing(
      folder_.path(), {slow}, nullptr, [] { std::this_thread::sleep_for(200ms); }, 200ms);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::limit_exceeded);
  EXPECT_EQ(result.error().message(), "measuring was given up after 0.2 s");
  EXPECT_GE(runs, 1);
  EXPECT_LE(runs, 11);
  EXPECT_TRUE(measure({slow})) << "not tried again for a day";
}

TEST_F(BackgroundCalibrationTest, WaitsForQueriesAndEndsWithItsOwner) {
  std::atomic<bool> busy{true};
  std::atomic<bool> ended{false};
  {
    BackgroundCalibration const background(
        folder_.path(), {counted("a")}, [&] { return busy.load(); }, [&] { ended = true; });
    std::this_thread::sleep_for(700ms);
    EXPECT_EQ(measured_, 0);
  }
  EXPECT_EQ(measured_, 0);
  EXPECT_TRUE(ended);
  busy = false;
  BackgroundCalibration const background(
      folder_.path(), {counted("a")}, [&] { return busy.load(); }, [] {});
  for (int i = 0; i < 200 && measured_ == 0; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(measured_, 1);
}

}  // namespace
}  // namespace garuda::calibrate
