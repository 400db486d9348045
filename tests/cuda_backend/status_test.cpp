// What CUDA's statuses become; needs no device.
#include "cuda_backend/status.hpp"

#include <gtest/gtest.h>

#include <string>

namespace garuda::cuda_backend {
namespace {

Error error_of(cudaError_t status) {
  auto const checked = check(status, "cudaCall(memory)");
  EXPECT_FALSE(checked);
  return checked.error();
}

TEST(CudaStatus, SuccessIsNoError) { EXPECT_TRUE(check(cudaSuccess, "cudaCall(memory)")); }

TEST(CudaStatus, NamesCallAndStatus) {
  auto const text = error_of(cudaErrorInvalidValue).describe();
  EXPECT_NE(text.find("cudaCall(memory)"), std::string::npos) << text;
  EXPECT_NE(text.find("cudaErrorInvalidValue"), std::string::npos) << text;
  EXPECT_EQ(text.find("lost"), std::string::npos) << text;
}

TEST(CudaStatus, SaysWhenTheDeviceIsLost) {
  for (auto const status : {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorECCUncorrectable,
                            cudaErrorNvlinkUncorrectable, cudaErrorContextIsDestroyed, cudaErrorMisalignedAddress}) {
    auto const error = error_of(status);
    EXPECT_EQ(error.code(), ErrorCode::device_failure);
    EXPECT_NE(error.describe().find("the CUDA device was lost: "), std::string::npos) << error.describe();
  }
}

TEST(CudaStatus, TellsMemoryAndMissingDevicesApart) {
  EXPECT_EQ(error_of(cudaErrorMemoryAllocation).code(), ErrorCode::out_of_memory);
  for (auto const status : {cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorDevicesUnavailable,
                            cudaErrorNoKernelImageForDevice, cudaErrorSystemNotReady})
    EXPECT_EQ(error_of(status).code(), ErrorCode::no_device);
}

}  // namespace
}  // namespace garuda::cuda_backend
