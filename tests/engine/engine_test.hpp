// The fixture of tests that run whole calls on one engine with the validation layers on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/test_run.hpp"

namespace garuda::testing {

/// The paths that a device has. Of the optional features only buffer addresses are missing on devices that tests stand
/// for.
inline std::vector<Path> paths_of(DeviceInfo const& device) {
  if (device.api == DeviceApi::cuda) return {Path::cuda};
  if (std::ranges::find(device.missing_optional, "bufferDeviceAddress") != device.missing_optional.end())
    return {Path::graphics};
  return {Path::graphics, Path::compute};
}

/// One engine for the suite, of all devices of the one driver of this process; a message of the validation layers
/// fails the suite. The driver `cuda` (GARUDA_TEST_DRIVER) stands for CUDA's devices: without one its tests are
/// skipped.
class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options;
    options.validation = with_validation();
    options.calibration_folder = "";
    auto created = Engine::create(options);
    ASSERT_TRUE(created) << created.error().describe();
    shared() = std::make_unique<Engine>(std::move(*created));
    if (!is_driver("cuda")) return;
    if (auto const found = shared()->find_cuda_devices(); !found) missing_cuda() = found.error().describe();
  }
  void SetUp() override {
    if (!missing_cuda().empty()) GTEST_SKIP() << "no CUDA device for tests: " << missing_cuda();
  }
  static void TearDownTestSuite() {
    if (shared() == nullptr) return;
    EXPECT_EQ(shared()->validation_messages(), std::vector<std::string>{});
    shared().reset();
  }

  static Engine& engine() { return *shared(); }

  /// Options of every path that this process can run: the CPU path's, where lavapipe's entry of the suite does not run
  /// it, and those of each device.
  template <class Options>
  static std::vector<Options> all_paths() {
    std::vector<Options> all;
    if (!host_runs_elsewhere()) all.emplace_back().path = Path::cpu;
    for (auto const& device : engine().devices()) {
      if (!device.usable) continue;
      for (auto const path : paths_of(device)) {
        all.emplace_back().path = path;
        all.back().device = std::to_string(device.index);
      }
    }
    return all;
  }

 private:
  static std::string& missing_cuda() {
    static std::string reason;
    return reason;
  }
  static std::unique_ptr<Engine>& shared() {
    static std::unique_ptr<Engine> engine;
    return engine;
  }
};

}  // namespace garuda::testing
