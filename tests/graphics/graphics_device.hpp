// The Vulkan device that tests of the graphics path run on: the one driver of this process, under validation.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/test_run.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::testing {

/// Opens the device once per suite; a validation message fails the test that caused it.
class GraphicsDeviceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    vk::InstanceOptions options;
    options.validation = with_validation();
    auto instance = vk::Instance::create(options);
    ASSERT_TRUE(instance) << instance.error().describe();
    instance_ = std::move(*instance);
    auto devices = instance_->physical_devices();
    ASSERT_TRUE(devices) << devices.error().describe();
    auto device = vk::Device::create(*instance_, devices->front());
    ASSERT_TRUE(device) << device.error().describe();
    device_ = std::move(*device);
    auto store = vk::PipelineStore::create(*device_, std::nullopt);
    ASSERT_TRUE(store) << store.error().describe();
    store_ = std::move(*store);
  }

  static void TearDownTestSuite() {
    store_.reset();
    device_.reset();
    if (instance_) expect_no_messages();
    instance_.reset();
  }

  void TearDown() override {
    expect_no_messages();
    instance_->clear_validation_messages();
  }

  static vk::Device& device() { return *device_; }
  static vk::PipelineStore& store() { return *store_; }

 private:
  static void expect_no_messages() {
    auto const messages = instance_->validation_messages();
    EXPECT_TRUE(messages.empty()) << messages.size() << " validation messages, the first: " << messages.front();
  }

  inline static std::unique_ptr<vk::Instance> instance_;
  inline static std::unique_ptr<vk::Device> device_;
  inline static std::unique_ptr<vk::PipelineStore> store_;
};

}  // namespace garuda::testing
