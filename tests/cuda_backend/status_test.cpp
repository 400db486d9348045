// CUDA's statuses, errors and exceptions as errors; needs no device.
#include "cuda_backend/status.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "cuda_backend/border.hpp"

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

/// The code and the sentence of a call of the plug-in.
template <class Body>
void expect_reported(Body const& body, std::int32_t code, std::string const& sentence) {
  GarudaCudaError error{};
  EXPECT_EQ(guarded(&error, body), code);
  EXPECT_EQ(error.message, sentence);
}

TEST(CudaBorder, ErrorsAndExceptionsBecomeACodeWithASentence) {
  expect_reported([]() -> Result<void> { return {}; }, GARUDA_CUDA_OK, "");
  expect_reported([]() -> Result<void> { return fail(ErrorCode::limit_exceeded, "too many groups"); },
                  GARUDA_CUDA_LIMIT_EXCEEDED, "too many groups");
  expect_reported([]() -> Result<void> { throw std::bad_alloc(); }, GARUDA_CUDA_OUT_OF_MEMORY,
                  "the CUDA plug-in ran out of host memory");
  expect_reported([]() -> Result<void> { throw std::out_of_range("no such lane"); }, GARUDA_CUDA_DEVICE_FAILURE,
                  "no such lane");
  expect_reported([]() -> Result<void> { throw 7; }, GARUDA_CUDA_DEVICE_FAILURE,
                  "the CUDA plug-in threw what is no exception of C++");
}

TEST(CudaBorder, LongSentencesAreCut) {
  std::string const sentence(1'000, 'x');
  expect_reported([&]() -> Result<void> { return fail(ErrorCode::usage, sentence); }, GARUDA_CUDA_USAGE,
                  sentence.substr(0, sizeof(GarudaCudaError::message) - 1));
}

}  // namespace
}  // namespace garuda::cuda_backend
