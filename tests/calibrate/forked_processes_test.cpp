// Calibration that nobody asked for, where a process is forked off beside it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "operators/calibrate/background_calibration.hpp"
#include "tests/vk_runtime/scratch_folder.hpp"

namespace garuda::calibrate {
namespace {

TEST(ForkedProcesses, ALockEndsWithItsProcess) {
  vk::ScratchFolder const folder;
  auto const child = ::fork();
  if (child == 0) {
    auto const lock = MeasuringLock::take(folder.path());
    ::_exit(lock ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(MeasuringLock::take(folder.path()));
}

/// The thread waits, as it does nearly always.
TEST(ForkedProcesses, AForkedProcessEndsWithoutTheThread) {
  vk::ScratchFolder const folder;
  Measurement const nothing{"a", [](MeasuringTime&) { return Result<void>(); }};
  std::atomic<int> asked = 0;
  auto background = std::make_unique<BackgroundCalibration>(
      folder.path(), std::vector{nothing}, [&asked] { return ++asked > 0; }, [] {});
  while (asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  auto const child = ::fork();
  if (child == 0) {
    background.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace garuda::calibrate
