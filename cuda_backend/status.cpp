#include "cuda_backend/status.hpp"

#include <string>

namespace garuda::cuda_backend {
namespace {

ErrorCode code_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return ErrorCode::out_of_memory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorStubLibrary:
      return ErrorCode::no_device;
    default:
      return ErrorCode::device_failure;
  }
}

/// Whether the context, and with it everything on the device, is gone for this process.
bool is_lost(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorContained:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<void> check(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return {};
  (void)cudaGetLastError();
  auto const lost = is_lost(status) ? "the CUDA device was lost: " : "";
  return fail(code_of(status),
              lost + std::string(call) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

}  // namespace garuda::cuda_backend
