// The CUDA device that tests of the CUDA path run on: the first; without one they are skipped, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "operators/cuda/cuda_device.hpp"

namespace garuda::testing {

/// Opens the device once per suite.
class CudaDeviceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto library = cuda::CudaLibrary::load();
    if (!library) return refuse(library.error());
    library_ = std::move(*library);
    auto const devices = library_->devices();
    if (!devices) return refuse(devices.error());
    auto device = cuda::CudaDevice::open(*library_, 0);
    ASSERT_TRUE(device) << device.error().describe();
    device_ = std::move(*device);
  }

  static void TearDownTestSuite() {
    device_.reset();
    library_.reset();
  }

  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << "no CUDA device for tests: " << reason_;
  }

  static cuda::CudaDevice& device() { return *device_; }

 private:
  static void refuse(Error const& error) {
    reason_ = error.describe();
    EXPECT_EQ(error.code(), ErrorCode::no_device) << reason_;
  }

  inline static std::string reason_;
  inline static std::unique_ptr<cuda::CudaLibrary> library_;
  inline static std::unique_ptr<cuda::CudaDevice> device_;
};

}  // namespace garuda::testing
