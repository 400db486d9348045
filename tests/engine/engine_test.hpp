// The fixture of tests that run whole calls on one engine with the validation layers on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/validation.hpp"

namespace garuda::testing {

/// The paths that a device has.
inline std::vector<Path> paths_of(DeviceInfo const& device) {
  if (device.api == DeviceApi::cuda) return {Path::cuda};
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
    if (!wants_cuda()) return;
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

 private:
  static bool wants_cuda() {
    auto const* const driver = std::getenv("GARUDA_TEST_DRIVER");
    return driver != nullptr && std::string_view(driver) == "cuda";
  }
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
