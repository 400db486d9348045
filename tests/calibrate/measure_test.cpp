// Measuring on every driver, through the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/calibrate/device_rates.hpp"
#include "operators/calibrate/host_rates.hpp"
#include "operators/calibrate/measuring.hpp"
#include "tests/test_run.hpp"
#include "tests/vk_runtime/scratch_folder.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda {
namespace {

class Calibrate : public ::testing::Test {
 protected:
  Engine engine() {
    return Engine::create({.validation = testing::with_validation(),
                           .pipeline_cache_on_disk = false,
                           .calibration_folder = folder_})
        .value();
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

TEST(MeasuringTimes, ALateRateIsMeasuredInOneRun) {
  Control const control;
  for (bool const is_late : {true, false}) {
    calibrate::MeasuringTime const time(control, is_late ? std::chrono::nanoseconds(1) : std::chrono::hours(1), false);
    std::vector<std::uint64_t> runs;
    auto const rate = calibrate::measure_rate(1, 1 << 20, time, 0.5, [&](std::uint64_t items) -> Result<std::uint64_t> {
      runs.push_back(items);
      return items * 1'000'000;
    });
    EXPECT_DOUBLE_EQ(rate.value(), 1000);
    EXPECT_EQ(runs, is_late ? (std::vector<std::uint64_t>{1, 4, 16, 64})
                            : (std::vector<std::uint64_t>{1, 4, 16, 64, 64, 64, 64, 64}));
  }
}

/// Late from the start, a device is measured all the same, in few runs; where that is to be given up, in none.
TEST_F(Calibrate, ADeviceHasABoundInTime) {
  auto const instance = vk::Instance::create({.validation = testing::with_validation()}).value();
  auto const device = vk::Device::create(*instance, instance->physical_devices().value().front()).value();
  auto const pipelines = vk::PipelineStore::create(*device, std::nullopt).value();
  Control const control;
  calibrate::MeasuringTime late(control, std::chrono::nanoseconds(1), false);
  auto const rates = calibrate::measure_device(*device, *pipelines, late);
  ASSERT_TRUE(rates) << rates.error().describe();
  EXPECT_TRUE(rates::are_sane(*rates));
  calibrate::MeasuringTime over(control, std::chrono::nanoseconds(1), true);
  auto const given_up = calibrate::measure_device(*device, *pipelines, over);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code(), ErrorCode::limit_exceeded);
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
    Control const control;
    calibrate::MeasuringTime time(control, is_late ? std::chrono::nanoseconds(1) : std::chrono::hours(1), false);
    auto const rates = calibrate::measure_host(time, group_by);
    ASSERT_TRUE(rates) << rates.error().describe();
    // A few rows; then, a round, of six numbers of groups many rows, of four as many rows as groups.
    EXPECT_EQ(tables, is_late ? 1 + 10 : 1 + 3 * 10);
    EXPECT_EQ(samples, is_late ? 1 : 2);
  }
}

}  // namespace
}  // namespace garuda
