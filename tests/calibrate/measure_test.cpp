// Measuring on every driver, under the validation layer, through the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/calibrate/host_rates.hpp"
#include "tests/test_run.hpp"
#include "tests/vk_runtime/scratch_folder.hpp"

namespace garuda {
namespace {

class Calibrate : public ::testing::Test {
 protected:
  Engine engine() {
    return Engine::create({.validation = true, .pipeline_cache_on_disk = false, .calibration_folder = folder_}).value();
  }

  vk::ScratchFolder scratch_;
  std::string folder_ = (scratch_.path() / "calibration").string();
};

TEST_F(Calibrate, DevicesAreMeasuredOnceAndKnownAfterwards) {
  auto measuring = engine();
  for (auto const& info : measuring.calibrations()) EXPECT_FALSE(info.measured);
  auto const infos = measuring.calibrate({.device = "0", .threads = 0, .control = {}});
  ASSERT_TRUE(infos) << infos.error().describe();
  EXPECT_EQ(measuring.validation_messages(), std::vector<std::string>{});
  ASSERT_EQ(infos->size(), 1U);
  EXPECT_TRUE(infos->front().measured);
  EXPECT_EQ(infos->front().device, 0U);
  EXPECT_TRUE(std::ranges::any_of(infos->front().rates,
                                  [](auto const& rate) { return rate.name == "comparisons" && rate.value > 0; }));
  EXPECT_TRUE(std::filesystem::exists(infos->front().file));

  auto const known = engine().calibrations();
  EXPECT_FALSE(known.at(0).measured) << "the host was not asked for";
  EXPECT_TRUE(known.at(1).measured);
  EXPECT_EQ(known.at(1).rates.size(), infos->front().rates.size());
  for (std::size_t i = 0; i < known.at(1).rates.size(); ++i)
    EXPECT_EQ(known.at(1).rates[i].value, infos->front().rates[i].value);
}

TEST_F(Calibrate, ADamagedFileIsIgnoredWithANote) {
  auto measuring = engine();
  auto const infos = measuring.calibrate({.device = "0", .threads = 0, .control = {}});
  ASSERT_TRUE(infos) << infos.error().describe();
  std::ofstream(infos->front().file, std::ios::trunc) << "{";
  auto const known = engine().calibrations();
  EXPECT_FALSE(known.at(1).measured);
  EXPECT_THAT(known.at(1).note, ::testing::HasSubstr("ignored"));
}

TEST_F(Calibrate, CancellingKeepsNothing) {
  std::atomic<bool> const cancelled{true};
  Control control;
  control.cancelled = &cancelled;
  auto measuring = engine();
  auto const infos = measuring.calibrate({.device = std::nullopt, .threads = 0, .control = control});
  ASSERT_FALSE(infos);
  EXPECT_EQ(infos.error().code(), ErrorCode::cancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Calibrate, UnknownDevicesAreErrors) {
  auto const infos = engine().calibrate({.device = "no such device", .threads = 0, .control = {}});
  ASSERT_FALSE(infos);
  EXPECT_EQ(infos.error().code(), ErrorCode::no_device);
}

TEST(CalibrateHost, IsMeasuredWithoutADeviceAndUsedWithoutAFolder) {
  if (testing::host_runs_elsewhere()) GTEST_SKIP() << "in lavapipe's entry";
  auto engine = Engine::create({.vulkan = false, .calibration_folder = ""}).value();
  auto const infos = engine.calibrate({.device = "host", .threads = 1, .control = {}});
  ASSERT_TRUE(infos) << infos.error().describe();
  ASSERT_EQ(infos->size(), 1U);
  EXPECT_FALSE(infos->front().device);
  EXPECT_EQ(infos->front().file, "");
  EXPECT_TRUE(engine.calibrations().at(0).measured);
}

TEST(CalibrateHost, WhatIsLateIsMeasuredInOneRunEach) {
  if (testing::host_runs_elsewhere()) GTEST_SKIP() << "in lavapipe's entry";
  for (bool const is_late : {true, false}) {
    int tables = 0;
    int samples = 0;
    auto const group_by = [&](calibrate::TimedGroups const& run) -> Result<std::vector<std::uint64_t>> {
      ++tables;
      samples = run.samples;
      return std::vector<std::uint64_t>(run.ways.size(), 10 * run.rows);
    };
    auto const most = is_late ? std::optional(std::chrono::nanoseconds(1)) : std::nullopt;
    auto const rates = calibrate::measure_host({}, group_by, most);
    ASSERT_TRUE(rates) << rates.error().describe();
    // A few rows; then, a round, of six numbers of groups many rows, of four as many rows as groups.
    EXPECT_EQ(tables, is_late ? 1 + 10 : 1 + 3 * 10);
    EXPECT_EQ(samples, is_late ? 1 : 2);
  }
}

}  // namespace
}  // namespace garuda
