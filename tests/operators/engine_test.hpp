// The fixture of tests that run whole calls on one engine with the validation layers on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"

namespace garuda::testing {

/// One engine for the suite, of all devices of the one driver of this process; a message of the validation layers
/// fails the suite.
class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options;
    options.validation = true;
    auto created = Engine::create(options);
    ASSERT_TRUE(created) << created.error().describe();
    shared() = std::make_unique<Engine>(std::move(*created));
  }
  static void TearDownTestSuite() {
    if (shared() == nullptr) return;
    EXPECT_EQ(shared()->validation_messages(), std::vector<std::string>{});
    shared().reset();
  }

  static Engine& engine() { return *shared(); }

 private:
  static std::unique_ptr<Engine>& shared() {
    static std::unique_ptr<Engine> engine;
    return engine;
  }
};

}  // namespace garuda::testing
